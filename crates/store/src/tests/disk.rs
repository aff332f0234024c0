//! The reserve of the disk: what is refused while it is used, and what goes on.

use overnight_domain::money::Pricing;

use crate::DiskSpace;
use crate::disk_space::{FREE_PAGES, read_free_pages};
use crate::ledger::price_points;
use crate::tests::grouping::new_batch;
use crate::tests::prelude::*;

/// Half of the reserve is free, and a quarter more, so that other users of this disk change nothing; what is free.
async fn reserve_more_than_is_free(fixture: &Fixture) -> u64 {
    let DiskSpace { free, .. } = fixture.store.disk_space().await.expect("a read").expect("a disk");
    fixture.store.set_disk_reserve(free / 2 * 3).await.expect("a reserve");
    free
}

fn check_reserved<T: std::fmt::Debug>(outcome: &Result<T, StoreError>) {
    assert!(matches!(outcome, Err(StoreError::DiskReserved)), "{outcome:?}");
}

#[tokio::test]
async fn creates_stop_before_the_disk_is_full_and_what_was_accepted_goes_on() {
    let mut fixture = Fixture::on_sqlite().await;
    let ids = fixture.insert(&[1, 2, 3]).await;
    let free = reserve_more_than_is_free(&fixture).await;
    let request = fixture.request(4);
    check_reserved(&requests::insert(&fixture.store, request).await);
    let batch = new_batch(&mut fixture, &ids).await;
    check_reserved(&batches::insert(&fixture.store, batch).await);
    check_reserved(&fixture.store.check_room(1));
    assert!(!fixture.store.is_advance_held());
    let running = fixture.release_and_lease().await;
    assert!(fixture.settle(&running[0], START + 2).await);
    requests::cancel(&fixture.store, fixture.account, ids[1], START + 2).await.expect("a cancel");
    accounts::insert(&fixture.store, &new_account(8)).await.expect("an account");

    fixture.store.set_disk_reserve(free.saturating_mul(4)).await.expect("a reserve");
    assert!(fixture.store.is_advance_held());
    let back = ReleaseLease { lease: running[2].clone(), retry_at: START, attempt: None, suspect: false };
    assert!(leases::release_lease(&fixture.store, back).await.expect("a lease that ends"));
    let positions = fixture.look().await;
    check_reserved(&leases::take(&fixture.store, fixture.partition(), positions, START).await);
    check_reserved(&releases::release(&fixture.store, START, 1_000).await);

    fixture.store.set_disk_reserve(0).await.expect("a reserve");
    let lease = fixture.lease().await.remove(0);
    assert!(fixture.settle(&lease, START + 3).await);
    assert_eq!(fixture.status(ids[2]).await, RequestStatus::Completed);
    fixture.insert(&[5]).await;
    fixture.assert_sound().await;
}

#[tokio::test]
async fn a_store_that_opens_on_a_disk_without_room_takes_nothing_in_and_settles() {
    let mut fixture = Fixture::on_sqlite().await;
    fixture.insert(&[1]).await;
    fixture.release().await;
    fixture.options.disk_reserve = Some(u64::MAX);
    fixture.restart().await;
    let request = fixture.request(2);
    check_reserved(&requests::insert(&fixture.store, request).await);
    let positions = fixture.look().await;
    check_reserved(&leases::take(&fixture.store, fixture.partition(), positions, START).await);
    fixture.assert_sound().await;
}

/// The clock of this store stands still: with little room, the disk is looked at before each group.
#[tokio::test]
async fn large_creates_in_a_row_stop_at_the_reserve() {
    const MIB: u64 = 1 << 20;
    let mut fixture = Fixture::on_sqlite().await;
    let DiskSpace { free, .. } = fixture.store.disk_space().await.expect("a read").expect("a disk");
    fixture.store.set_disk_reserve(free.saturating_sub(64 * MIB)).await.expect("a reserve");
    let body = Bytes::from(vec![b'x'; 8 << 20]);
    let mut taken = 0;
    let refused = loop {
        let mut request = fixture.request(taken);
        request.body = body.clone();
        match requests::insert(&fixture.store, request).await {
            Ok(_) => taken += 1,
            refused => break refused,
        }
    };
    check_reserved(&refused);
    // Other tests write to this disk and delete meanwhile.
    assert!(taken < 32, "{taken} of 8 MiB each");
}

#[tokio::test]
async fn the_disk_of_a_postgresql_is_not_this_machines() {
    let mut fixture = Fixture::on_postgres().await;
    assert_eq!(fixture.store.disk_space().await.expect("no read"), None);
    fixture.store.set_disk_reserve(u64::MAX).await.expect("no reserve");
    fixture.insert(&[1]).await;
    assert!(!fixture.store.is_advance_held());
}

#[tokio::test]
async fn models_and_prices_that_are_known_are_found_where_nothing_can_be_written() {
    let fixture = Fixture::on_sqlite().await;
    let pricing = Pricing { input: "1".parse().expect("credits"), output: "2".parse().expect("credits") };
    let (names, store) = (["tiny", "large"], &fixture.store);
    let keys = models::ensure(store, &names).await.expect("the models");
    let price = price_points::ensure(store, pricing).await.expect("a price");
    // Nobody else can write while another process does.
    let other = rusqlite::Connection::open(fixture.folder().join(DATABASE_FILE)).expect("a database");
    other.execute_batch("BEGIN IMMEDIATE").expect("a lock");
    assert_eq!(models::ensure(store, &names).await.expect("the models"), keys);
    assert_eq!(models::ensure(store, &["large"]).await.expect("a model"), keys[1..]);
    assert_eq!(price_points::ensure(store, pricing).await.expect("a price"), price);
    other.execute_batch("ROLLBACK").expect("an end");
    assert_eq!(models::ensure(store, &["large", "new"]).await.expect("the models")[0], keys[1]);
}

#[tokio::test]
async fn free_pages_of_the_database_are_room_for_what_comes() {
    let mut fixture = Fixture::on_sqlite().await;
    let free = async |fixture: &Fixture| {
        let row = fixture.store.readers().fetch_one(FREE_PAGES.unbound()).await.expect("a read");
        read_free_pages(&row).expect("a number")
    };
    let request = NewRequest { body: vec![b' '; 2 << 20].into(), ..fixture.request(1) };
    let id = fixture.put(request).await;
    let before = free(&fixture).await;
    requests::cancel(&fixture.store, fixture.account, id, START).await.expect("a cancel");
    requests::delete_request(&fixture.store, fixture.account, id).await.expect("a deletion");
    let freed = free(&fixture).await - before;
    assert!((2 << 20..3 << 20).contains(&freed), "{freed}");
}
