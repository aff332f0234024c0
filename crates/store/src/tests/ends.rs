//! The order in which the requests of a batch ended: whoever reads on from any place gets the rest, once each.

use crate::batches::{EndedPage, PlaceOfEnd};
use crate::requests::{Due, delete_request};
use crate::tests::grouping::grouped;
use crate::tests::prelude::*;
use crate::tests::webhooks::cancel;

/// Row numbers of a batch and its new requests.
async fn batch_of(fixture: &mut Fixture, keys: &[u8]) -> (i64, Vec<RequestId>) {
    let ids = fixture.insert(keys).await;
    (group_of(fixture, &ids).await, ids)
}

async fn group_of(fixture: &mut Fixture, ids: &[RequestId]) -> i64 {
    grouped(fixture, ids).await.0
}

async fn page(fixture: &Fixture, store: &Store, batch: i64, after: i64) -> EndedPage {
    let so_far = batches::ended_so_far(store, batch).await.expect("a read");
    batches::page_ended(store, fixture.account, batch, after, so_far).await.expect("a page")
}

/// Everything after a place, each request with its own.
async fn rest(fixture: &Fixture, batch: i64, mut after: i64) -> Vec<(i64, RequestId)> {
    let mut all = Vec::new();
    loop {
        let page = page(fixture, &fixture.store, batch, after).await;
        if page.next == after {
            return all;
        }
        after = page.next;
        all.extend(page.rows.into_iter().map(|(place, record)| (place, record.summary.id)));
    }
}

async fn place(fixture: &Fixture, batch: i64, id: RequestId) -> PlaceOfEnd {
    batches::find_place(&fixture.store, fixture.account, batch, id).await.expect("a search")
}

async fn change(fixture: &Fixture, text: &'static str) {
    let work = async move |tx: &mut Tx<'_>| tx.execute(sql(text)).await.map(drop);
    fixture.store.transaction(work).await.expect("a change");
}

async fn check_places(fixture: &Fixture, batch: i64, other: i64, seen: &[(i64, RequestId)]) {
    for (after, id) in seen {
        assert_eq!(place(fixture, batch, *id).await, PlaceOfEnd::At(*after));
        assert_eq!(place(fixture, other, *id).await, PlaceOfEnd::Unknown);
    }
}

on_both!(whoever_reads_on_from_any_place_gets_the_rest);
async fn whoever_reads_on_from_any_place_gets_the_rest(fixture: &mut Fixture) {
    let keys: Vec<u8> = (1..=200).collect();
    let (batch, ids) = batch_of(fixture, &keys).await;
    let (other, _) = batch_of(fixture, &[250]).await;
    cancel(fixture, ids[7], START + 1).await;
    let leases = fixture.release_and_lease().await;
    for lease in leases.iter().rev().take(3) {
        assert!(fixture.settle(lease, START + 2).await);
    }
    let settlements: Vec<_> =
        leases.iter().skip(1).step_by(2).map(|it| fixture.settlement(it, START + 3)).collect();
    settle::settle_all(&fixture.store, settlements.into()).await.expect("settles");
    let first = page(fixture, &fixture.store, batch, 0).await;
    assert_eq!((first.rows.len(), first.next), (64, 64), "a page is full where there is enough");
    let mut seen = rest(fixture, batch, 0).await;
    assert_eq!(seen[0].1, ids[7], "a cancelled request has its place");
    expiry::expire(&fixture.store, START + DAY_MS, 1_000, b"{}".to_vec()).await.expect("ends");
    seen.extend(rest(fixture, batch, seen.len() as i64).await);
    let places: Vec<i64> = seen.iter().map(|(place, _)| *place).collect();
    assert_eq!(places, (1..=200).collect::<Vec<_>>());
    let mut sorted: Vec<RequestId> = seen.iter().map(|(_, id)| *id).collect();
    sorted.sort_unstable();
    assert_eq!(sorted, ids);
    check_places(fixture, batch, other, &seen).await;
    for passed in [1, 63, 64, 65, 199, 200] {
        assert_eq!(rest(fixture, batch, passed as i64).await, seen[passed..], "behind {passed}");
    }
    assert_eq!(batches::ended_so_far(&fixture.store, batch).await.expect("a read").ended, 200);
}

on_both!(a_page_of_ends_with_large_bodies_or_results_stays_small);
async fn a_page_of_ends_with_large_bodies_or_results_stays_small(fixture: &mut Fixture) {
    let mut bodies: Vec<_> = (0..7).map(|key| fixture.request(key)).collect();
    for request in &mut bodies[1..5] {
        // Two of them are with their results as long as what a page may have.
        request.body = vec![b' '; (512 << 10) - 4].into();
    }
    let ids: Vec<_> = bodies.iter().map(|request| request.id).collect();
    fixture.insert_all(bodies).await;
    let batch = group_of(fixture, &ids).await;
    for (key, lease) in (0..).zip(fixture.release_and_lease().await) {
        let body = if key == 6 { vec![b' '; 2 << 20].into() } else { b"{}"[..].into() };
        let settlement = Settlement { body, ..fixture.settlement(&lease, START + 2) };
        assert!(settle::settle(&fixture.store, settlement).await.expect("a settle"));
    }
    let (mut after, mut sizes) = (0, Vec::new());
    while let page = page(fixture, &fixture.store, batch, after).await
        && page.next > after
    {
        after = page.next;
        sizes.push(page.rows.len());
    }
    assert_eq!(sizes, [4, 3], "a page ends after the record that takes it past its limit");
}

on_both!(what_ended_without_a_place_is_given_one_when_somebody_reads);
async fn what_ended_without_a_place_is_given_one_when_somebody_reads(fixture: &mut Fixture) {
    let ids = fixture.insert(&[1, 2, 3, 4, 5, 6]).await;
    cancel(fixture, ids[3], START + 2).await;
    cancel(fixture, ids[1], START + 1).await;
    let batch = group_of(fixture, &ids).await;
    assert_eq!(place(fixture, batch, ids[3]).await, PlaceOfEnd::At(2), "it had ended before");
    assert_eq!(place(fixture, batch, ids[0]).await, PlaceOfEnd::NotEnded);
    cancel(fixture, ids[0], START + 3).await;
    // Two end without a place, of which one is deleted; then the last ends with one.
    cancel(fixture, ids[2], START + 4).await;
    cancel(fixture, ids[5], START + 5).await;
    change(fixture, "DELETE FROM batch_ends WHERE ended > 3").await;
    delete_request(&fixture.store, fixture.account, ids[2]).await.expect("a deletion");
    cancel(fixture, ids[4], START + 6).await;
    let ended = [(1, ids[1]), (2, ids[3]), (3, ids[0]), (5, ids[5]), (6, ids[4])];
    assert_eq!(rest(fixture, batch, 0).await, ended);
    assert_eq!(rest(fixture, batch, 4).await, ended[3..]);
    assert_eq!(place(fixture, batch, ids[5]).await, PlaceOfEnd::At(5));
    assert_eq!(place(fixture, batch, ids[2]).await, PlaceOfEnd::Unknown, "it was deleted");
    fixture.assert_sound().await;
    check_without_any_place(fixture, batch, &ended.map(|(_, id)| id)).await;
}

on_both!(the_order_of_ends_in_one_transaction_is_that_of_the_times_that_records_show);
async fn the_order_of_ends_in_one_transaction_is_that_of_the_times_that_records_show(fixture: &mut Fixture) {
    let (batch, ids) = batch_of(fixture, &[1, 2]).await;
    fixture.release().await;
    let first = fixture.look().await.into_iter().take(1).collect();
    leases::take(&fixture.store, fixture.partition(), first, START + 10).await.expect("a lease");
    batches::cancel_chunk(&fixture.store, batch, None, START + 5)
        .await
        .expect("a cancel by a clock that is behind");
    let expected = [(1, ids[1]), (2, ids[0])];
    assert_eq!(
        rest(fixture, batch, 0).await,
        expected,
        "the first had begun at a later time than it was cancelled"
    );
    check_without_any_place(fixture, batch, &expected.map(|(_, id)| id)).await;
}

/// All of it, where no end has a place.
async fn check_without_any_place(fixture: &Fixture, batch: i64, ended: &[RequestId]) {
    change(fixture, "DELETE FROM batch_ends WHERE batch > 0").await;
    let ids: Vec<RequestId> = rest(fixture, batch, 0).await.into_iter().map(|(_, id)| id).collect();
    assert_eq!(ids, ended);
}

on_both!(the_order_goes_with_the_last_request);
async fn the_order_goes_with_the_last_request(fixture: &mut Fixture) {
    let (batch, ids) = batch_of(fixture, &[1, 2]).await;
    for id in &ids {
        cancel(fixture, *id, START + 1).await;
    }
    delete_request(&fixture.store, fixture.account, ids[0]).await.expect("a deletion");
    assert_eq!(rest(fixture, batch, 0).await, [(2, ids[1])]);
    assert_eq!(
        delete_ended(&fixture.store, Due::all(fixture.account, START + 2 * DAY_MS))
            .await
            .expect("a deletion"),
        1
    );
    let rows = fixture.store.readers().fetch_all(sql("SELECT ended FROM batch_ends")).await.expect("a read");
    assert_eq!((rows.len(), rest(fixture, batch, 0).await), (0, Vec::new()));
}

/// A node has drawn the number of a result and has not committed; another draws a later one and commits first. Whoever read that one
/// finds the other behind it.
#[tokio::test]
async fn no_place_is_given_out_before_all_earlier_ones_are_committed() {
    let (mut fixture, other, _folder) = Fixture::with_node().await;
    let (_, first) = batch_of(&mut fixture, &[1]).await;
    let (batch, ids) = batch_of(&mut fixture, &[2, 3]).await;
    fixture.release().await;
    let mut positions = fixture.look().await;
    let theirs = positions.split_off(2);
    let take = |store, positions| leases::take(store, fixture.partition(), positions, START + 1);
    let mine = take(&fixture.store, positions).await.expect("leases").leases;
    let theirs = take(&other, theirs).await.expect("leases").leases;
    // The group that ends the request of the first batch and one of the second waits here, with its numbers drawn.
    let mut connection = fixture.store.connect().await.expect("a connection");
    let mut held = Tx::begin(&mut connection).await.expect("a transaction");
    held.fetch(sql("SELECT seq FROM batches ORDER BY seq LIMIT 1 FOR UPDATE")).await.expect("a lock");
    let settlements: Vec<_> = mine.iter().map(|lease| fixture.settlement(lease, START + 2)).collect();
    let slow = settle::settle_all(&fixture.store, settlements.into());
    let overtaking = async {
        let waiting =
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        while fixture.store.readers().fetch_all(sql(waiting)).await.expect("a read").is_empty() {
            tokio::task::yield_now().await;
        }
        let settled = settle::settle(&other, fixture.settlement(&theirs[0], START + 3)).await;
        assert!(settled.expect("a settle"));
        let seen = page(&fixture, &other, batch, 0).await;
        held.rollback().await.expect("an end");
        seen
    };
    let limit = Duration::from_secs(20);
    let (settled, seen) =
        tokio::time::timeout(limit, async { tokio::join!(slow, overtaking) }).await.expect("both in time");
    assert_eq!(settled.expect("settles"), [true, true]);
    let read =
        |page: &EndedPage| -> Vec<_> { page.rows.iter().map(|(at, it)| (*at, it.summary.id)).collect() };
    assert_eq!((read(&seen), seen.next), (vec![(1, ids[1])], 1));
    assert_eq!(read(&page(&fixture, &other, batch, seen.next).await), [(2, ids[0])]);
    assert_eq!(place(&fixture, batch, first[0]).await, PlaceOfEnd::Unknown);
    // The numbers of results would have lost it: the first of them was committed last.
    let numbers = "SELECT r.id FROM results t JOIN requests r ON r.seq = t.request ORDER BY t.seq";
    let rows = fixture.store.readers().fetch_all(sql(numbers)).await.expect("a read");
    let by_number: Vec<RequestId> = rows.iter().map(|row| row.get("id").expect("an id")).collect();
    assert_eq!(by_number.last(), Some(&ids[1]));
    fixture.assert_sound().await;
}

on_both!(a_watch_is_woken_by_ends_of_its_batch_alone);
async fn a_watch_is_woken_by_ends_of_its_batch_alone(fixture: &mut Fixture) {
    let (batch, ids) = batch_of(fixture, &[1, 2]).await;
    let (_, others) = batch_of(fixture, &[3]).await;
    let watch = crate::watch_batch(&fixture.store, batch);
    cancel(fixture, others[0], START + 1).await;
    let is_woken = || FutureExt::now_or_never(watch.ended()).is_some();
    assert!(!is_woken());
    cancel(fixture, ids[0], START + 1).await;
    assert!(is_woken() && !is_woken());
}
