//! What an account may have in the object store beyond what it stores.

use crate::tests::objects::{KEPT_MS, World, large_body, large_result};
use crate::tests::prelude::*;

on_both!(an_account_cannot_fill_the_object_store_by_deleting);
async fn an_account_cannot_fill_the_object_store_by_deleting(world: &mut World) {
    world.fixture.options.quotas = Quotas::default().with(Quota::StoredBytes, Some(60_000));
    world.fixture.restart().await;
    for key in 0..6 {
        world.store().objects().forget_quotas();
        let id = world.insert_large(key).await;
        world.complete().await;
        let found = world.find(id).await.expect("a read");
        assert_eq!((found.body, found.result), (large_body(key), Some(large_result())));
        world.delete(id).await;
    }
    assert_eq!(world.files().len(), 4, "two bodies with their results; what came then was in the database");
    let other = world.fixture.other_account().await;
    let stored = world.store().stored(other, large_body(1), START).await.expect("a put");
    assert!(is_reference(&stored), "another account goes on");
    world.sweep(START).await;
    assert_eq!(world.sweep(START + KEPT_MS).await, 5);
    world.store().objects().forget_quotas();
    world.insert_large(9).await;
    assert_eq!(world.are_beside("requests").await, [true], "it may put again");
}

on_both!(an_account_puts_until_more_than_its_quota_waits_to_be_deleted);
async fn an_account_puts_until_more_than_its_quota_waits_to_be_deleted(world: &mut World) {
    let account = world.fixture.account;
    let limit = Some(2 * large_body(1).len() as i64);
    world.fixture.options.quotas = Quotas::default().with(Quota::StoredBytes, limit);
    world.fixture.restart().await;
    let store = world.store();
    let is_put = async |account| {
        store.objects().forget_quotas();
        is_reference(&store.stored(account, large_body(1), START).await.expect("a body"))
    };
    for _ in 0..4 {
        assert!(is_put(account).await, "what is being put waits for nothing");
    }
    let let_go_one = async || {
        let let_go = sql(
            "UPDATE objects SET state = 2 WHERE name IN (SELECT name FROM objects WHERE state = 0 LIMIT 1)",
        );
        store.transaction(async move |tx: &mut Tx<'_>| tx.execute(let_go).await).await.expect("a write")
    };
    assert_eq!((let_go_one().await, let_go_one().await), (1, 1));
    assert!(is_put(account).await, "it is as much as the quota");
    assert_eq!(let_go_one().await, 1);
    assert!(!is_put(account).await, "it is more");
    assert!(is_put(AccountKey(999)).await, "of an account that nobody knows nothing waits");
    let id = accounts::get(store, account).await.expect("the account").id;
    let changes = vec![(Quota::StoredBytes, Some(Quotas::UNLIMITED))];
    accounts::set_quotas(store, id, changes, START).await.expect("a write").expect("the account");
    assert!(is_put(account).await, "an account without a limit puts all");
}
