//! What is read of large bodies.

use overnight_base::encryption::MARK;
use overnight_domain::traces::TraceContext;

use crate::object_store::{ObjectName, Reference};
use crate::requests::Filter;
use crate::tests::filling;
use crate::tests::objects::{World, is_away, large_body, large_result};
use crate::tests::prelude::*;

on_both!(large_bodies_are_beside_the_database_and_read_as_they_were);
async fn large_bodies_are_beside_the_database_and_read_as_they_were(world: &mut World) {
    let small = world.fixture.insert(&[1]).await[0];
    let large = world.insert_large(2).await;
    world.complete().await;
    assert_eq!(world.are_beside("requests").await, [false, true]);
    assert_eq!(world.are_beside("results").await, [true, true]);
    assert_eq!(world.files().len(), 3);
    let records = [world.find(small).await.expect("a read"), world.find(large).await.expect("a read")];
    assert_eq!((&records[1].body, records[1].result.as_ref()), (&large_body(2), Some(&large_result())));
    assert_eq!(records[0].result, Some(large_result()));
    let scope = PageScope::Account(world.fixture.account, Direction::OldestFirst);
    let page =
        requests::page_records(world.store(), scope, &Filter::default(), None, None).await.expect("a page");
    assert_eq!(page.rows, records);
    world.fixture.assert_sound().await;
    world.fixture.restart().await;
    assert_eq!(world.find(large).await.expect("a read"), records[1]);
}

on_both!(large_prompts_are_read_at_their_turn_and_shown_in_no_list);
async fn large_prompts_are_read_at_their_turn_and_shown_in_no_list(world: &mut World) {
    world.fixture.insert(&[1]).await;
    world.insert_large(2).await;
    let store = world.store();
    let prompts = scan::list_small_prompts(store, &[1, 2]).await.expect("a read");
    assert_eq!(prompts.iter().map(|prompt| prompt.seq).collect::<Vec<_>>(), [1]);
    let prompt = scan::find_prompt(store, 2).await.expect("a read").expect("a prompt");
    assert_eq!(prompt.body, large_body(2));
    let scope = ListScope::Account(world.fixture.account);
    let list = requests::list_page(store, scope, &ListFilter::default(), None).await.expect("a list");
    assert_eq!((list.rows[0].body.as_ref(), list.rows[0].body_bytes), (None, large_body(2).len() as i64));
}

on_both!(what_is_encrypted_is_so_in_its_object_too);
async fn what_is_encrypted_is_so_in_its_object_too(world: &mut World) {
    world.fixture.options.key_folder = Some(world.folder.path().join("keys"));
    world.fixture.options.encrypts = true;
    world.fixture.restart().await;
    let id = world.insert_large(1).await;
    world.complete().await;
    for file in world.files() {
        assert!(is_marked(&fs::read(file).expect("a file")));
    }
    let record = world.find(id).await.expect("a read");
    assert_eq!((record.body, record.result), (large_body(1), Some(large_result())));
}

on_both!(lists_of_ends_and_batches_of_files_have_large_bodies_too);
async fn lists_of_ends_and_batches_of_files_have_large_bodies_too(world: &mut World) {
    let batch = filling::made(&mut world.fixture, &["1\n2\n"]).await;
    let claimed = filling::claim(&world.fixture, START, START).await.expect("a batch to be filled");
    let mut step = filling::step(&mut world.fixture, claimed, &[true, true], true);
    step.lines[1].as_mut().expect("a line").request.body = large_body(9);
    assert_eq!(filling::fill(world.store(), step).await, Filled::Last);
    assert_eq!(world.are_beside("requests").await, [false, true]);
    assert_eq!((world.files().len(), world.waiting().await), (1, 0));
    world.complete().await;
    let (account, seq) = (world.fixture.account, claimed.batch);
    let so_far = batches::ended_so_far(world.store(), seq).await.expect("a read");
    let page = batches::page_ended(world.store(), account, seq, 0, so_far).await;
    let rows = page.expect("a page").rows;
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|(_, record)| record.result == Some(large_result())));
    assert!(rows.iter().any(|(_, record)| record.body == large_body(9)));
    assert_eq!(batch.record.counters.registered, 2);
}

on_both!(while_the_object_store_is_away_nothing_large_is_taken_and_small_bodies_go_on);
async fn while_the_object_store_is_away_nothing_large_is_taken_and_small_bodies_go_on(world: &mut World) {
    let before = world.insert_large(1).await;
    let come_back = world.take_away();
    let request = world.large(2);
    let refused = request.id;
    assert!(is_away(requests::insert(world.store(), request).await));
    let unknown =
        requests::find_summary(world.store(), world.fixture.account, refused).await.expect("a read");
    assert!(unknown.is_none(), "nothing was taken");
    assert!(is_away(world.find(before).await));
    assert!(is_away(scan::find_prompt(world.store(), 1).await));
    let small = world.fixture.insert(&[3]).await[0];
    assert!(world.find(small).await.is_ok());
    come_back();
    assert_eq!(world.find(before).await.expect("a read").body, large_body(1));
    world.insert_large(4).await;
}

on_both!(a_body_that_looks_like_the_name_of_an_object_leads_to_no_object);
async fn a_body_that_looks_like_the_name_of_an_object_leads_to_no_object(world: &mut World) {
    world.insert_large(1).await;
    let file = world.files().remove(0);
    let bits = u128::from_str_radix(file.file_name().and_then(|name| name.to_str()).expect("a name"), 16);
    let bits = bits.expect("128 bits").to_be_bytes();
    let name = ObjectName { account: world.fixture.account, bits };
    let forged = Reference::new(name, &large_body(1)).to_stored();
    let request = NewRequest { body: forged, ..world.fixture.request(2) };
    let id = request.id;
    requests::insert(world.store(), request).await.expect("a create");
    assert_eq!(world.are_beside("requests").await, [true, false]);
    // Nor is it the body of a request, which is JSON.
    let found = world.find(id).await;
    assert!(matches!(found, Err(StoreError::DamagedColumn("body"))), "{found:?}");
}

on_both!(a_trace_that_begins_like_a_marked_value_is_a_trace);
async fn a_trace_that_begins_like_a_marked_value_is_a_trace(world: &mut World) {
    // As a client may choose it in `traceparent`.
    let traces: Vec<Option<TraceContext>> =
        (0..3).map(|kind| TraceContext::from_bytes(&[&MARK[..], &[kind], &[7; 16]].concat())).collect();
    for trace in &traces {
        let request = NewRequest { trace: *trace, ..world.fixture.request(1) };
        requests::insert(world.store(), request).await.expect("a create");
    }
    let prompts = scan::list_small_prompts(world.store(), &[1, 2, 3]).await.expect("a read");
    assert_eq!(prompts.iter().map(|prompt| prompt.trace).collect::<Vec<_>>(), traces);
    let prompt = scan::find_prompt(world.store(), 3).await.expect("a read").expect("a prompt");
    assert!(prompt.trace == traces[2] && traces.iter().all(Option::is_some));
}

on_both!(an_object_that_is_missing_or_changed_is_told_as_damage);
async fn an_object_that_is_missing_or_changed_is_told_as_damage(world: &mut World) {
    let id = world.insert_large(1).await;
    let file = world.files().remove(0);
    let mut content = fs::read(&file).expect("a file");
    content[100] ^= 1;
    fs::write(&file, &content).expect("a write");
    let damaged = world.find(id).await.expect_err("it was changed");
    assert!(matches!(damaged, StoreError::ObjectStore(ObjectStoreError::Damaged(_))), "{damaged}");
    fs::write(&file, &content[1..]).expect("a write");
    let damaged = world.find(id).await.expect_err("it was cut");
    assert!(matches!(damaged, StoreError::ObjectStore(ObjectStoreError::Damaged(_))), "{damaged}");
    fs::remove_file(&file).expect("a deletion");
    let missing = world.find(id).await.expect_err("it is gone");
    assert!(matches!(missing, StoreError::ObjectStore(ObjectStoreError::Missing(_))), "{missing}");
    assert!(!missing.is_passing());
}

on_both!(what_was_put_is_read_when_nothing_more_is_and_the_store_must_be_named, no audit);
async fn what_was_put_is_read_when_nothing_more_is_and_the_store_must_be_named(world: &mut World) {
    let before = world.insert_large(1).await;
    world.set(None).await;
    let after = world.insert_large(2).await;
    assert_eq!(world.are_beside("requests").await, [true, false]);
    for (key, id) in [(1, before), (2, after)] {
        assert_eq!(world.find(id).await.expect("a read").body, large_body(key));
    }
    world.fixture.store.close().await;
    let unnamed = StoreOptions { object_store: None, ..world.fixture.options.clone() };
    let clock = Arc::new(SystemClock);
    let refused = Store::open(&unnamed, clock).await.err().expect("a refusal");
    assert!(matches!(refused, StoreError::ObjectStore(ObjectStoreError::NotNamed)), "{refused}");
}

on_both!(an_export_names_objects_and_an_import_reads_them);
async fn an_export_names_objects_and_an_import_reads_them(world: &mut World) {
    let id = world.insert_large(1).await;
    world.complete().await;
    let mut file = Vec::new();
    export(world.store(), &mut file).await.expect("an export");
    let folder = tempfile::tempdir().expect("a folder");
    let target = StoreOptions { object_store: Some(world.options(None)), ..options(&folder) };
    import(&target, &mut &file[..], START).await.expect("an import");
    world.fixture.store.close().await;
    world.fixture.store = open(&target).await;
    let record = world.find(id).await.expect("a read");
    assert_eq!((record.body, record.result), (large_body(1), Some(large_result())));
}
