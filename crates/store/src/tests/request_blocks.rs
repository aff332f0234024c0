//! What the requests of a block of row numbers have in common, and lists that skip the other blocks.

use crate::requests::{DeletionOutcome, Filter, delete_request, page_summaries, unmark_ended};
use crate::tests::prelude::*;

/// Accounts, blocks and marks, in order.
async fn blocks(fixture: &Fixture) -> Vec<(i64, i64, i64)> {
    let rows = sql("SELECT account, block, mark FROM request_blocks ORDER BY account, block, mark");
    let rows = fixture.store.readers().fetch_all(rows).await.expect("a read");
    let column = |row: &Row, name| row.get::<i64>(name).expect("a number");
    rows.iter().map(|row| (column(row, "account"), column(row, "block"), column(row, "mark"))).collect()
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

on_both!(a_list_skips_the_blocks_of_other_times_and_models);
async fn a_list_skips_the_blocks_of_other_times_and_models(fixture: &mut Fixture) {
    const HOUR_MS: i64 = 3_600_000;
    let other = models::ensure(&fixture.store, &["other"]).await.expect("a model")[0];
    let mut ids = Vec::new();
    for hour in 0..5 {
        let mut new: Vec<_> = (0..1_024).map(|_| fixture.request(1)).collect();
        for request in &mut new {
            request.created_at = START + hour * HOUR_MS;
        }
        if hour == 3 {
            new[7].alias = Some(other);
        }
        ids.extend(new.iter().map(|request| request.id));
        fixture.insert_all(new).await;
    }
    let since = |created_after| Filter { created_after: Some(created_after), ..Filter::default() };
    let until = |created_before| Filter { created_before: Some(created_before), ..Filter::default() };
    let found = pages(fixture, Direction::OldestFirst, since(START + 4 * HOUR_MS - 1)).await;
    assert!(found.concat() == ids[4_096..], "those of the last hour");
    assert!(found.len() <= 3, "other hours fill no page");
    let found = pages(fixture, Direction::NewestFirst, until(START + 1)).await;
    assert_eq!(found.concat().len(), 1_024);
    assert!(found.len() <= 3, "other hours fill no page");
    for direction in [Direction::OldestFirst, Direction::NewestFirst] {
        for none in [since(START + 5 * HOUR_MS), until(START - HOUR_MS)] {
            assert_eq!(pages(fixture, direction, none).await, [vec![]; 1]);
        }
        let hour = Filter { created_before: Some(START + 2 * HOUR_MS + 1), ..since(START + 2 * HOUR_MS - 1) };
        assert_eq!(pages(fixture, direction, hour).await.concat().len(), 1_024);
        let of_other = Filter { model: Some(other), ..Filter::default() };
        assert_eq!(pages(fixture, direction, of_other).await[0], [ids[3 * 1_024 + 7]], "in the first page");
        let cancelled =
            Filter { status: Some(RequestStatus::Cancelled), model: Some(other), ..Filter::default() };
        assert_eq!(pages(fixture, direction, cancelled).await, [vec![]; 1]);
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

on_both!(a_list_of_live_requests_skips_blocks_in_which_all_ended_once_these_are_unmarked);
async fn a_list_of_live_requests_skips_blocks_in_which_all_ended_once_these_are_unmarked(
    fixture: &mut Fixture,
) {
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.extend(insert_many(fixture, 1_024).await);
    }
    let last = ids[3_070];
    for id in ids.iter().filter(|id| **id != last) {
        cancel(fixture, *id).await;
    }
    let registered = async |fixture: &Fixture| {
        pages(fixture, Direction::OldestFirst, of_status(RequestStatus::Registered)).await
    };
    assert_eq!(registered(fixture).await.concat(), [last]);
    assert!(registered(fixture).await[0].is_empty(), "the marks are still there");
    unmark_ended(&fixture.store).await.expect("a run");
    assert_eq!(registered(fixture).await[0], [last]);
    let marked: Vec<_> = blocks(fixture).await.into_iter().filter(|block| block.2 == 0).collect();
    assert_eq!(marked, [(fixture.account.0, 2, 0)]);
    let again = insert_many(fixture, 1).await;
    assert_eq!(registered(fixture).await.concat(), [vec![last], again].concat());
}

on_both!(a_block_is_forgotten_with_its_last_request_and_noted_again);
async fn a_block_is_forgotten_with_its_last_request_and_noted_again(fixture: &mut Fixture) {
    let account = fixture.account;
    let marks = |states: &[i64]| {
        let created = [-fixture.model.0, 0].into_iter().chain(states.iter().copied());
        let created = created.chain([16 + START / 16_384]);
        created.map(|mark| (account.0, 0, mark)).collect::<Vec<_>>()
    };
    let (none, cancelled, completed) = (marks(&[]), marks(&[5]), marks(&[3]));
    let ids = fixture.insert(&[1, 2]).await;
    assert_eq!(blocks(fixture).await, none);
    cancel(fixture, ids[0]).await;
    assert_eq!(blocks(fixture).await, cancelled);
    let delete = async |id| delete_request(&fixture.store, account, id).await.expect("a deletion");
    assert_eq!(delete(ids[0]).await, DeletionOutcome::Deleted);
    assert_eq!(blocks(fixture).await, cancelled, "another request is there");
    cancel(fixture, ids[1]).await;
    assert_eq!(delete(ids[1]).await, DeletionOutcome::Deleted);
    assert_eq!(blocks(fixture).await, []);
    let (id, lease) = fixture.leased_one(3).await;
    assert!(fixture.settle(&lease, START).await);
    assert_eq!(blocks(fixture).await, completed);
    let found = pages(fixture, Direction::OldestFirst, of_status(RequestStatus::Completed)).await;
    assert_eq!(found.concat(), [id]);
}

on_both!(the_audit_finds_a_block_without_a_mark_and_one_without_requests, no audit);
async fn the_audit_finds_a_block_without_a_mark_and_one_without_requests(fixture: &mut Fixture) {
    let id = fixture.insert(&[1, 2]).await[0];
    cancel(fixture, id).await;
    let repair = "DELETE FROM request_blocks; INSERT INTO request_blocks (account, block, mark)
        SELECT account, 0, 5 FROM requests UNION SELECT account, 0, 0 FROM requests UNION SELECT account, 0, 16 + created_at / 16384 FROM requests
        UNION SELECT account, 0, -model FROM requests";
    fixture
        .assert_found(&[
            ("DELETE FROM request_blocks WHERE mark = 5", repair),
            ("DELETE FROM request_blocks WHERE mark = 0", repair),
            ("DELETE FROM request_blocks WHERE mark > 16", repair),
            ("DELETE FROM request_blocks WHERE mark < 0", repair),
            ("INSERT INTO request_blocks (account, block, mark) VALUES (1, 7, 3)", repair),
        ])
        .await;
}
