//! What an account may have in the object store beyond what it stores.

use overnight_domain::quotas::{Quota, Quotas};

use crate::object_store::is_reference;
use crate::store::identity::accounts;
use crate::store::requests::{self, NewRequest};
use crate::store::tests::objects::{KEPT_MS, World, large_body, large_result};
use crate::store::tests::{Fixture, START, new_account};

on_both!(an_account_cannot_fill_the_object_store_by_deleting);
async fn an_account_cannot_fill_the_object_store_by_deleting(fixture: Fixture) {
    let mut world = World::over(fixture).await;
    world.fixture.options.quotas = Quotas::default().with(Quota::StoredBytes, Some(60_000));
    world.fixture.restart().await;
    for key in 0..6 {
        let created_at = START + 1_000 * i64::from(key);
        let request = NewRequest { created_at, ..world.large(key) };
        let id = request.id;
        requests::insert(world.store(), request).await.expect("a create");
        world.complete().await;
        let found = world.find(id).await.expect("a read");
        assert_eq!((found.body, found.result), (large_body(key), Some(large_result())));
        world.delete(id).await;
    }
    assert_eq!(world.files().len(), 4, "two bodies with their results; what came then was in the database");
    let other = accounts::insert(world.store(), &new_account(8)).await.expect("an account").key;
    let stored = world.store().stored(other, large_body(1), START).await.expect("a put");
    assert!(is_reference(&stored), "another account goes on");
    world.sweep(START).await;
    assert_eq!(world.sweep(START + KEPT_MS).await, 5);
    let request = NewRequest { created_at: START + KEPT_MS, ..world.large(9) };
    requests::insert(world.store(), request).await.expect("a create");
    assert_eq!(world.are_beside("requests").await, [true], "it may put again");
    world.fixture.assert_sound().await;
}

on_both!(whether_an_account_may_put_is_known_for_a_second);
async fn whether_an_account_may_put_is_known_for_a_second(fixture: Fixture) {
    let mut world = World::over(fixture).await;
    let account = world.fixture.account;
    world.fixture.options.quotas = Quotas::default().with(Quota::StoredBytes, Some(20_000));
    world.fixture.restart().await;
    for (after, is_put) in [(0, true), (999, true), (1_000, false), (1_999, false), (2_000, false)] {
        let stored = world.store().stored(account, large_body(1), START + after).await.expect("a body");
        assert_eq!(is_reference(&stored), is_put, "after {after} ms");
    }
    let id = accounts::get(world.store(), account).await.expect("the account").id;
    let changes = vec![(Quota::StoredBytes, Some(Quotas::UNLIMITED))];
    accounts::set_quotas(world.store(), id, changes, START).await.expect("a write").expect("the account");
    let stored = world.store().stored(account, large_body(1), START + 3_000).await.expect("a put");
    assert!(is_reference(&stored), "an account without a limit puts all");
    world.fixture.assert_sound().await;
}
