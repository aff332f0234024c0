//! Bodies that are stored as objects beside the database.

use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use overnight_domain::ids::RequestId;
use overnight_domain::quotas::{Quota, Quotas};
use overnight_domain::records::RequestRecord;
use tempfile::TempDir;
use url::Url;

use crate::encryption::is_marked;
use crate::object_store::{ObjectName, ObjectStoreError, ObjectStoreOptions, Reference, is_reference};
use crate::store::batches::{self, Filled};
use crate::store::database::{Tx, sql};
use crate::store::ledger::holds::Admission;
use crate::store::objects::{self, Waiting, table};
use crate::store::operations::transfer::{export, import};
use crate::store::queue::scan;
use crate::store::queue::settle::{self, Settlement};
use crate::store::requests::{Direction, Due, Filter, ListFilter, ListScope, NewRequest, PageScope};
use crate::store::tests::{DAY_MS, Fixture, START, filling, open, options};
use crate::store::{Store, StoreError, StoreOptions, closing, requests};

/// Bodies of so many bytes are large here: longer than the name of an object.
const MIN_BYTES: usize = 100;

/// How long objects are kept that are in use no more.
const KEPT_MS: i64 = 7 * DAY_MS;

/// A store that puts large bodies into a folder.
struct World {
    fixture: Fixture,
    folder: TempDir,
}

impl World {
    async fn over(fixture: Fixture) -> Self {
        let mut world = Self { fixture, folder: tempfile::tempdir().expect("a folder") };
        world.set(Some(MIN_BYTES)).await;
        world
    }

    fn objects(&self) -> PathBuf {
        self.folder.path().join("objects")
    }

    fn options(&self, min_bytes: Option<usize>) -> ObjectStoreOptions {
        let url = Url::from_directory_path(self.objects()).expect("a URL");
        ObjectStoreOptions { url, endpoint: None, region: None, allow_http: false, min_bytes }
    }

    /// Starts the service again, where bodies of so many bytes are large.
    async fn set(&mut self, min_bytes: Option<usize>) {
        self.fixture.options.object_store = Some(self.options(min_bytes));
        self.fixture.restart().await;
    }

    fn store(&self) -> &Store {
        &self.fixture.store
    }

    /// A request with a body that is large.
    fn large(&mut self, key: u8) -> NewRequest {
        NewRequest { body: large_body(key), ..self.fixture.request(key) }
    }

    async fn insert_large(&mut self, key: u8) -> RequestId {
        let request = self.large(key);
        let id = request.id;
        assert_eq!(requests::insert(self.store(), request).await.expect("a create"), Admission::Taken);
        id
    }

    /// Completes everything that waits, with results that are large.
    async fn complete(&self) {
        self.fixture.release().await;
        for lease in self.fixture.lease().await {
            let settlement = self.fixture.settlement(&lease, START + 2);
            let settlement = Settlement { body: large_result(), ..settlement };
            assert!(settle::settle(self.store(), settlement).await.expect("a settle"));
        }
    }

    async fn find(&self, id: RequestId) -> Result<RequestRecord, StoreError> {
        let found = requests::find_record(self.store(), self.fixture.account, id).await;
        found.map(|found| found.expect("the request"))
    }

    async fn delete(&self, id: RequestId) {
        requests::delete_request(self.store(), self.fixture.account, id).await.expect("a deletion");
    }

    /// Whether each body, or each result, is beside the database, in the order of the rows.
    async fn are_beside(&self, table: &str) -> Vec<bool> {
        let text: &'static str = Box::leak(format!("SELECT body FROM {table} ORDER BY seq").into());
        let mut connection = self.store().database().as_stored().connect().await.expect("a connection");
        let rows = connection.fetch(sql(text)).await.expect("rows");
        connection.close().await.expect("an end");
        rows.iter().map(|row| is_reference(row.get("body").expect("bytes"))).collect()
    }

    fn files(&self) -> Vec<PathBuf> {
        files_under(&self.objects())
    }

    async fn sweep(&self, now: i64) -> usize {
        objects::sweep(self.store(), now, KEPT_MS).await.expect("a sweep")
    }

    async fn waiting(&self) -> i64 {
        let Waiting { objects, .. } = objects::waiting(self.store()).await.expect("a count");
        objects
    }

    /// From now on the object store is away, until what this gives is called.
    fn take_away(&self) -> impl FnOnce() + use<> {
        let (objects, elsewhere) = (self.objects(), self.folder.path().join("elsewhere"));
        fs::rename(&objects, &elsewhere).expect("a move");
        fs::write(&objects, b"no folder").expect("a file in its place");
        move || {
            fs::remove_file(&objects).expect("the file goes");
            fs::rename(&elsewhere, &objects).expect("a move");
        }
    }
}

fn large_body(key: u8) -> Bytes {
    format!(r#"{{"model":"tiny","messages":[{{"role":"user","content":"{key}{}"}}]}}"#, "x".repeat(20_000))
        .into()
}

fn large_result() -> Bytes {
    format!(r#"{{"object":"chat.completion","id":"{}"}}"#, "y".repeat(30_000)).into()
}

fn files_under(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.flat_map(|path| if path.is_dir() { files_under(&path) } else { vec![path] }).collect()
}

fn is_away<T: std::fmt::Debug>(outcome: Result<T, StoreError>) -> bool {
    let error = outcome.expect_err("the object store is away");
    assert!(error.is_passing(), "{error}");
    matches!(error, StoreError::ObjectStore(_))
}

on_both!(large_bodies_are_beside_the_database_and_read_as_they_were);
async fn large_bodies_are_beside_the_database_and_read_as_they_were(fixture: Fixture) {
    let mut world = World::over(fixture).await;
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
async fn large_prompts_are_read_at_their_turn_and_shown_in_no_list(fixture: Fixture) {
    let mut world = World::over(fixture).await;
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
async fn what_is_encrypted_is_so_in_its_object_too(fixture: Fixture) {
    let mut world = World::over(fixture).await;
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
    world.fixture.assert_sound().await;
}

on_both!(lists_of_ends_and_batches_of_files_have_large_bodies_too);
async fn lists_of_ends_and_batches_of_files_have_large_bodies_too(fixture: Fixture) {
    let mut world = World::over(fixture).await;
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
    world.fixture.assert_sound().await;
}

on_both!(while_the_object_store_is_away_nothing_large_is_taken_and_small_bodies_go_on);
async fn while_the_object_store_is_away_nothing_large_is_taken_and_small_bodies_go_on(fixture: Fixture) {
    let mut world = World::over(fixture).await;
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
    world.fixture.assert_sound().await;
}

on_both!(an_answer_that_cannot_be_put_is_stored_in_the_database);
async fn an_answer_that_cannot_be_put_is_stored_in_the_database(fixture: Fixture) {
    let mut world = World::over(fixture).await;
    let first = world.insert_large(1).await;
    let come_back = world.take_away();
    world.complete().await;
    assert_eq!(world.are_beside("results").await, [false]);
    come_back();
    assert_eq!(world.find(first).await.expect("a read").result, Some(large_result()));
    world.insert_large(2).await;
    world.complete().await;
    assert_eq!(world.are_beside("results").await, [false, true]);
    // What could not be put may be there nevertheless.
    assert_eq!(world.waiting().await, 1);
    world.sweep(START + DAY_MS + 2).await;
    assert_eq!((world.files().len(), world.waiting().await), (3, 0));
    world.fixture.assert_sound().await;
}

on_both!(what_was_put_and_never_used_is_deleted_after_a_day_and_used_no_more);
async fn what_was_put_and_never_used_is_deleted_after_a_day_and_used_no_more(fixture: Fixture) {
    let mut world = World::over(fixture).await;
    let used = world.insert_large(1).await;
    let account = world.fixture.account;
    // The process ends between the put and the commit.
    let stored = world.store().stored(account, large_body(2), START).await.expect("a put");
    world.fixture.restart().await;
    assert_eq!((world.files().len(), world.waiting().await), (2, 1));
    assert_eq!(world.sweep(START + DAY_MS - 1).await, 0);
    assert_eq!(world.sweep(START + DAY_MS).await, 1);
    assert_eq!((world.files().len(), world.waiting().await), (1, 0));
    let late = async move |tx: &mut Tx<'_>| table::use_for_results([(1, &*stored)].into_iter(), tx).await;
    let refused = world.store().transaction(late).await.expect_err("it is gone");
    assert!(matches!(refused, StoreError::Refused(_)), "{refused}");
    assert_eq!(world.sweep(START + 100 * DAY_MS).await, 0, "what is in use is never deleted");
    assert_eq!(world.find(used).await.expect("a read").body, large_body(1));
}

on_both!(what_is_deleted_is_kept_for_backups_and_then_deleted_for_sure);
async fn what_is_deleted_is_kept_for_backups_and_then_deleted_for_sure(fixture: Fixture) {
    let mut world = World::over(fixture).await;
    let (deleted, stays) = (world.insert_large(1).await, world.insert_large(2).await);
    world.complete().await;
    world.delete(deleted).await;
    world.delete(deleted).await;
    world.fixture.assert_sound().await;
    assert_eq!((world.files().len(), world.waiting().await), (4, 2));
    assert_eq!(world.sweep(START).await, 0, "the time begins when it is first seen");
    assert_eq!(world.sweep(START + KEPT_MS - 1).await, 0);
    let come_back = world.take_away();
    assert!(is_away(objects::sweep(world.store(), START + KEPT_MS, KEPT_MS).await));
    come_back();
    world.fixture.restart().await;
    assert_eq!(world.sweep(START + KEPT_MS).await, 2);
    assert_eq!(world.sweep(START + KEPT_MS).await, 0);
    assert_eq!((world.files().len(), world.waiting().await), (2, 0));
    assert_eq!(world.find(stays).await.expect("a read").body, large_body(2));
}

on_both!(a_crash_between_the_deletion_of_an_object_and_of_its_row_only_repeats_it);
async fn a_crash_between_the_deletion_of_an_object_and_of_its_row_only_repeats_it(fixture: Fixture) {
    let mut world = World::over(fixture).await;
    world.insert_large(1).await;
    world.complete().await;
    let due = Due { account: world.fixture.account, before: requests::FOR_EVER };
    assert_eq!(requests::delete_ended(world.store(), due).await.expect("a deletion"), 1);
    world.sweep(START).await;
    fs::remove_file(world.files().remove(0)).expect("the first is deleted, and its row is not");
    world.fixture.restart().await;
    assert_eq!(world.sweep(START + KEPT_MS).await, 2);
    assert_eq!((world.files().len(), world.waiting().await), (0, 0));
    world.fixture.assert_sound().await;
}

on_both!(of_an_erased_account_nothing_is_left_under_its_prefix);
async fn of_an_erased_account_nothing_is_left_under_its_prefix(fixture: Fixture) {
    let mut world = World::over(fixture).await;
    let id = world.insert_large(1).await;
    world.complete().await;
    let account = world.fixture.account;
    world.store().stored(account, large_body(2), START).await.expect("a put that is never used");
    fs::write(world.objects().join(account.0.to_string()).join("stray"), b"named by no row").expect("a file");
    world.delete(id).await;
    let (store, soon) = (world.store(), START + 1_000);
    assert!(
        !closing::mark_erased(store, account, soon).await.expect("a look"),
        "one may be put in this moment"
    );
    let later = START + 2 * 60 * 60 * 1_000;
    let come_back = world.take_away();
    assert!(is_away(closing::mark_erased(store, account, later).await));
    come_back();
    closing::mark_erased(store, account, later).await.expect("a write");
    assert!(world.files().is_empty());
    assert_eq!(world.waiting().await, 0);
}

on_both!(what_is_refused_leaves_no_object_and_counts_for_nothing);
async fn what_is_refused_leaves_no_object_and_counts_for_nothing(fixture: Fixture) {
    let mut world = World::over(fixture).await;
    world.fixture.options.quotas = Quotas::default().with(Quota::StoredBytes, Some(50_000));
    world.fixture.restart().await;
    world.insert_large(1).await;
    world.insert_large(2).await;
    let request = world.large(3);
    let admission = requests::insert(world.store(), request).await.expect("an answer");
    assert!(matches!(admission, Admission::OverQuota(_)), "bytes beside the database count: {admission:?}");
    assert_eq!(world.sweep(START).await, 1);
    assert_eq!((world.files().len(), world.waiting().await), (2, 0));
    filling::made(&mut world.fixture, &["1\n"]).await;
    let claimed = filling::claim(&world.fixture, START, START).await.expect("a batch to be filled");
    let mut step = filling::step(&mut world.fixture, claimed, &[true], true);
    step.lines[0].as_mut().expect("a line").request.body = large_body(9);
    assert!(matches!(filling::fill(world.store(), step).await, Filled::OverQuota(_)));
    assert_eq!((world.files().len(), world.waiting().await), (2, 0), "it was put nowhere");
    world.fixture.assert_sound().await;
}

on_both!(a_lease_that_is_lost_leaves_no_object);
async fn a_lease_that_is_lost_leaves_no_object(fixture: Fixture) {
    let mut world = World::over(fixture).await;
    world.fixture.insert(&[1]).await;
    world.fixture.release().await;
    let lease = world.fixture.lease().await.pop().expect("a lease");
    let settlement = world.fixture.settlement(&lease, START + 2);
    let settlement = Settlement { body: large_result(), ..settlement };
    assert!(settle::settle(world.store(), settlement.clone()).await.expect("a settle"));
    assert!(!settle::settle(world.store(), settlement).await.expect("a settle"));
    assert_eq!((world.files().len(), world.sweep(START).await, world.files().len()), (2, 1, 1));
    world.fixture.assert_sound().await;
}

on_both!(a_body_that_looks_like_the_name_of_an_object_is_a_body);
async fn a_body_that_looks_like_the_name_of_an_object_is_a_body(fixture: Fixture) {
    let mut world = World::over(fixture).await;
    world.insert_large(1).await;
    let file = world.files().remove(0);
    let bits = u128::from_str_radix(file.file_name().and_then(|name| name.to_str()).expect("a name"), 16);
    let bits = bits.expect("128 bits").to_be_bytes();
    let name = ObjectName { account: world.fixture.account, bits };
    let forged = Reference::new(name, &large_body(1)).to_stored();
    let request = NewRequest { body: forged.clone(), ..world.fixture.request(2) };
    let id = request.id;
    requests::insert(world.store(), request).await.expect("a create");
    assert_eq!(world.are_beside("requests").await, [true, false]);
    assert_eq!(world.find(id).await.expect("a read").body, forged);
    world.fixture.assert_sound().await;
}

on_both!(an_object_that_is_missing_or_changed_is_told_as_damage);
async fn an_object_that_is_missing_or_changed_is_told_as_damage(fixture: Fixture) {
    let mut world = World::over(fixture).await;
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

on_both!(what_was_put_is_read_when_nothing_more_is_and_the_store_must_be_named);
async fn what_was_put_is_read_when_nothing_more_is_and_the_store_must_be_named(fixture: Fixture) {
    let mut world = World::over(fixture).await;
    let before = world.insert_large(1).await;
    world.set(None).await;
    let after = world.insert_large(2).await;
    assert_eq!(world.are_beside("requests").await, [true, false]);
    for (key, id) in [(1, before), (2, after)] {
        assert_eq!(world.find(id).await.expect("a read").body, large_body(key));
    }
    world.fixture.store.close().await;
    let unnamed = StoreOptions { object_store: None, ..world.fixture.options.clone() };
    let clock = std::sync::Arc::new(crate::clock::SystemClock);
    let refused = Store::open(&unnamed, clock).await.err().expect("a refusal");
    assert!(matches!(refused, StoreError::ObjectStore(ObjectStoreError::NotNamed)), "{refused}");
}

on_both!(an_export_names_objects_and_an_import_reads_them);
async fn an_export_names_objects_and_an_import_reads_them(fixture: Fixture) {
    let mut world = World::over(fixture).await;
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
    world.fixture.assert_sound().await;
}

#[tokio::test]
async fn nodes_share_objects_and_delete_each_once() {
    let mut world = World::over(Fixture::on_postgres().await).await;
    let folder = tempfile::tempdir().expect("a folder");
    let other = StoreOptions { folder: folder.path().to_owned(), ..world.fixture.options.clone() };
    let other = open(&other).await;
    let mut ids = Vec::new();
    for key in 0..20 {
        ids.push(world.insert_large(key).await);
    }
    let found = requests::find_record(&other, world.fixture.account, ids[7]).await.expect("a read");
    assert_eq!(found.expect("the request").body, large_body(7));
    world.complete().await;
    for id in ids {
        requests::delete_request(&other, world.fixture.account, id).await.expect("a deletion");
    }
    objects::sweep(&other, START, KEPT_MS).await.expect("a sweep");
    let later = START + KEPT_MS;
    let (one, two) =
        tokio::join!(objects::sweep(world.store(), later, KEPT_MS), objects::sweep(&other, later, KEPT_MS));
    assert!(one.expect("a sweep") + two.expect("a sweep") >= 40);
    assert!(world.files().is_empty());
    assert_eq!(world.waiting().await, 0);
    world.fixture.assert_sound().await;
}
