//! Blocks of row numbers in which requests ended, and lists that skip the others.

use crate::requests::{DeletionOutcome, Filter, delete_request, page_summaries};
use crate::tests::prelude::*;

/// Accounts, blocks and states, in order.
async fn blocks(fixture: &Fixture) -> Vec<(i64, i64, i64)> {
    let rows = sql("SELECT account, block, state FROM ended_blocks ORDER BY account, block, state");
    let rows = fixture.store.readers().fetch_all(rows).await.expect("a read");
    let column = |row: &Row, name| row.get::<i64>(name).expect("a number");
    rows.iter().map(|row| (column(row, "account"), column(row, "block"), column(row, "state"))).collect()
}

/// So many requests, which end only if a test ends them.
async fn insert_many(fixture: &mut Fixture, count: usize) -> Vec<RequestId> {
    let new: Vec<_> = (0..count).map(|_| fixture.request(1)).collect();
    let ids = new.iter().map(|request| request.id).collect();
    fixture.insert_all(new).await;
    ids
}

async fn cancel(fixture: &Fixture, id: RequestId) {
    requests::cancel(&fixture.store, fixture.account, id, START).await.expect("a cancel");
}

fn of_status(status: RequestStatus) -> Filter {
    Filter { status: Some(status), ..Filter::default() }
}

/// Each page's requests.
async fn pages(fixture: &Fixture, direction: Direction, filter: Filter) -> Vec<Vec<RequestId>> {
    let scope = PageScope::Account(fixture.account, direction);
    walk(async |after| {
        let page = page_summaries(&fixture.store, scope, &filter, after, None).await.expect("a page");
        (page.rows.iter().map(|row| row.id).collect(), page.next)
    })
    .await
}

on_both!(a_list_skips_the_blocks_in_which_nothing_matches);
async fn a_list_skips_the_blocks_in_which_nothing_matches(fixture: &mut Fixture) {
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.extend(insert_many(fixture, 1_024).await);
    }
    let (first, middle, last) = (ids[3], ids[2_100], ids[5_119]);
    for id in [first, middle, last] {
        cancel(fixture, id).await;
    }
    let cancelled = || of_status(RequestStatus::Cancelled);
    let expected = [first, middle, last].map(|id| vec![id]);
    assert_eq!(pages(fixture, Direction::OldestFirst, cancelled()).await, expected);
    let backwards = [last, middle, first].map(|id| vec![id]);
    assert_eq!(pages(fixture, Direction::NewestFirst, cancelled()).await, backwards);
    let unanswered = Filter { is_unanswered: true, ..Filter::default() };
    assert_eq!(pages(fixture, Direction::OldestFirst, unanswered).await, expected);
    for status in [RequestStatus::Failed, RequestStatus::Completed] {
        let found = pages(fixture, Direction::NewestFirst, of_status(status)).await;
        assert_eq!(found, [vec![]; 1], "one page, which is the last");
    }
}

on_both!(a_list_of_live_requests_of_an_account_without_any_ends_at_once);
async fn a_list_of_live_requests_of_an_account_without_any_ends_at_once(fixture: &mut Fixture) {
    for id in insert_many(fixture, 1_100).await {
        cancel(fixture, id).await;
    }
    for status in [RequestStatus::Registered, RequestStatus::InProgress] {
        assert_eq!(pages(fixture, Direction::OldestFirst, of_status(status)).await, [vec![]; 1]);
    }
    let waiting = insert_many(fixture, 1).await;
    let found = pages(fixture, Direction::OldestFirst, of_status(RequestStatus::Registered)).await;
    assert_eq!(found.concat(), waiting);
}

on_both!(a_block_is_forgotten_with_its_last_request_and_noted_again);
async fn a_block_is_forgotten_with_its_last_request_and_noted_again(fixture: &mut Fixture) {
    let account = fixture.account;
    let ids = fixture.insert(&[1, 2]).await;
    assert_eq!(blocks(fixture).await, []);
    cancel(fixture, ids[0]).await;
    assert_eq!(blocks(fixture).await, [(account.0, 0, 5)]);
    let delete = async |id| delete_request(&fixture.store, account, id).await.expect("a deletion");
    assert_eq!(delete(ids[0]).await, DeletionOutcome::Deleted);
    assert_eq!(blocks(fixture).await, [(account.0, 0, 5)], "another request is there");
    cancel(fixture, ids[1]).await;
    assert_eq!(delete(ids[1]).await, DeletionOutcome::Deleted);
    assert_eq!(blocks(fixture).await, []);
    let (completed, lease) = fixture.leased_one(3).await;
    assert!(fixture.settle(&lease, START).await);
    assert_eq!(blocks(fixture).await, [(account.0, 0, 3)]);
    let found = pages(fixture, Direction::OldestFirst, of_status(RequestStatus::Completed)).await;
    assert_eq!(found.concat(), [completed]);
}

on_both!(the_audit_finds_a_block_that_is_not_known_and_one_without_requests, no audit);
async fn the_audit_finds_a_block_that_is_not_known_and_one_without_requests(fixture: &mut Fixture) {
    let id = fixture.insert(&[1]).await[0];
    cancel(fixture, id).await;
    let repair = "DELETE FROM ended_blocks; INSERT INTO ended_blocks (account, block, state)
        SELECT account, 0, state FROM request_states";
    fixture
        .assert_found(&[
            ("DELETE FROM ended_blocks", repair),
            ("INSERT INTO ended_blocks (account, block, state) VALUES (1, 7, 3)", repair),
        ])
        .await;
}
