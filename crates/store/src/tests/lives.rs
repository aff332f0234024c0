//! The life of a request, as the store keeps it.

use overnight_domain::requests::RequestState;

use crate::requests::CancelOutcome;
use crate::tests::prelude::*;

on_both!(a_request_lives_from_insert_to_result);
async fn a_request_lives_from_insert_to_result(fixture: &mut Fixture) {
    let id = fixture.insert(&[1]).await[0];
    assert_eq!(fixture.status(id).await, RequestStatus::Registered);
    let lease = fixture.release_and_lease().await.remove(0);
    assert_eq!(fixture.status(id).await, RequestStatus::InProgress);
    assert!(fixture.settle(&lease, START + 5).await);
    let record =
        requests::find_record(&fixture.store, fixture.account, id).await.expect("a read").expect("a row");
    assert_eq!(
        record.summary.state,
        RequestState::Completed { in_progress_at: START + 1, ended_at: START + 5 }
    );
    assert_eq!(record.result.as_deref(), Some(br#"{"object":"chat.completion"}"#.as_slice()));
    assert_eq!(record.client.metadata.as_deref(), Some(b"{}".as_slice()));
}

on_both!(what_was_inserted_is_there_after_a_restart);
async fn what_was_inserted_is_there_after_a_restart(fixture: &mut Fixture) {
    let ids = fixture.insert(&[3, 1, 2]).await;
    fixture.restart().await;
    let more = fixture.insert(&[9]).await;
    for id in ids.into_iter().chain(more) {
        assert_eq!(fixture.status(id).await, RequestStatus::Registered);
    }
}

on_both!(another_account_finds_nothing);
async fn another_account_finds_nothing(fixture: &mut Fixture) {
    let id = fixture.insert(&[1]).await[0];
    let other = AccountKey(fixture.account.0 + 1);
    assert_eq!(requests::find_record(&fixture.store, other, id).await.expect("a read"), None);
    let outcome = requests::cancel(&fixture.store, other, id, START).await.expect("a cancel");
    assert_eq!(outcome, CancelOutcome::Unknown);
    assert_eq!(fixture.status(id).await, RequestStatus::Registered);
}

on_both!(a_cancel_before_the_settle_wins_and_the_answer_is_dropped);
async fn a_cancel_before_the_settle_wins_and_the_answer_is_dropped(fixture: &mut Fixture) {
    let (id, lease) = fixture.leased_one(1).await;
    let cancel = || requests::cancel(&fixture.store, fixture.account, id, START + 3);
    assert!(matches!(cancel().await.expect("a cancel"), CancelOutcome::Cancelled { .. }));
    assert!(!fixture.settle(&lease, START + 5).await);
    assert!(matches!(cancel().await.expect("a second cancel"), CancelOutcome::Cancelled { .. }));
    assert_eq!(fixture.status(id).await, RequestStatus::Cancelled);
}

on_both!(a_cancel_after_the_settle_is_refused);
async fn a_cancel_after_the_settle_is_refused(fixture: &mut Fixture) {
    let (id, lease) = fixture.leased_one(1).await;
    assert!(fixture.settle(&lease, START + 5).await);
    let outcome = requests::cancel(&fixture.store, fixture.account, id, START + 6).await.expect("a cancel");
    assert_eq!(outcome, CancelOutcome::AlreadyEnded(RequestStatus::Completed));
}

on_both!(everything_live_expires_at_its_deadline_wherever_it_stands);
async fn everything_live_expires_at_its_deadline_wherever_it_stands(fixture: &mut Fixture) {
    let ids = fixture.insert(&[1, 2]).await;
    let lease = fixture.release_and_lease().await.remove(0);
    let late = fixture.insert(&[3]).await[0];
    let expire = |now| expiry::expire(&fixture.store, now, 100, b"{}".to_vec());
    assert!(expire(START + DAY_MS - 1).await.expect("an expiry").is_empty());
    let is_overdue = |now| expiry::is_overdue(&fixture.store, now);
    assert!(!is_overdue(START + DAY_MS - 1).await.expect("a read"));
    assert!(is_overdue(START + DAY_MS).await.expect("a read"));
    assert_eq!(expire(START + DAY_MS).await.expect("an expiry").len(), 3);
    assert!(!fixture.settle(&lease, START + DAY_MS).await);
    for id in [ids[0], ids[1], late] {
        assert_eq!(fixture.status(id).await, RequestStatus::Failed);
    }
    assert!(!is_overdue(START + DAY_MS).await.expect("a read"));
}

on_both!(a_clock_that_was_set_back_hides_no_deadline);
async fn a_clock_that_was_set_back_hides_no_deadline(fixture: &mut Fixture) {
    let is_overdue = |now| expiry::is_overdue(&fixture.store, now);
    assert!(!is_overdue(START + 9 * DAY_MS).await.expect("a read"));
    assert!(!is_overdue(START).await.expect("a read"));
    fixture.insert(&[1]).await;
    assert!(expiry::is_overdue(&fixture.store, START + DAY_MS).await.expect("a read"));
}

on_both!(what_was_overdue_before_a_process_began_is_seen_by_it);
async fn what_was_overdue_before_a_process_began_is_seen_by_it(fixture: &mut Fixture) {
    let at_start = async |fixture: &Fixture| expiry::next_deadline(&fixture.store).await.expect("a read");
    assert_eq!(at_start(fixture).await, None);
    insert_later(fixture, 60_000).await;
    fixture.insert(&[1]).await;
    for (now, is_overdue) in [(DAY_MS - 1, false), (DAY_MS, true), (DAY_MS + 50, true), (9 * DAY_MS, true)] {
        fixture.restart().await;
        assert_eq!(at_start(fixture).await, Some(START + DAY_MS));
        let told = expiry::is_overdue(&fixture.store, START + now).await.expect("a read");
        assert_eq!(told, is_overdue, "{now}");
    }
}

/// Of live requests at `now`, in milliseconds after [`START`].
async fn earliest(fixture: &Fixture, now: i64) -> Option<i64> {
    expiry::earliest_deadline(&fixture.store, now).await.expect("a read").map(|it| it - START)
}

/// Due `ms` later than those of [`Fixture::insert`].
async fn insert_later(fixture: &mut Fixture, ms: i64) -> RequestId {
    let request = fixture.request(1);
    let request = NewRequest { expires_at: request.expires_at + ms, ..request };
    let id = request.id;
    fixture.insert_all([request]).await;
    id
}

on_both!(the_earliest_deadline_is_that_of_any_live_request);
async fn the_earliest_deadline_is_that_of_any_live_request(fixture: &mut Fixture) {
    let ids = fixture.insert(&[1]).await;
    let lease = fixture.release_and_lease().await.remove(0);
    let queued = insert_later(fixture, 60_000).await;
    fixture.release().await;
    insert_later(fixture, 90_000).await;
    assert_eq!(fixture.status(ids[0]).await, RequestStatus::InProgress);
    assert_eq!(earliest(fixture, START).await, Some(DAY_MS));
    assert!(fixture.settle(&lease, START + 5).await);
    assert_eq!(earliest(fixture, START + 5).await, Some(DAY_MS + 60_000));
    requests::cancel(&fixture.store, fixture.account, queued, START + 6).await.expect("a cancel");
    assert_eq!(earliest(fixture, START + 6).await, Some(DAY_MS + 90_000), "it gathers");
    fixture.restart().await;
    assert_eq!(earliest(fixture, START + 6).await, Some(DAY_MS + 90_000));
}

on_both!(no_request_is_behind_the_earliest_deadline);
async fn no_request_is_behind_the_earliest_deadline(fixture: &mut Fixture) {
    assert_eq!(earliest(fixture, START + 9 * DAY_MS).await, None);
    insert_later(fixture, 90_000).await;
    assert_eq!(earliest(fixture, START).await, Some(DAY_MS + 90_000), "the clock was set back");
    insert_later(fixture, 70_000).await;
    assert_eq!(earliest(fixture, START + 90_000).await, Some(DAY_MS + 70_000), "its create was slow");
}

on_both!(a_request_that_comes_while_nothing_lives_is_seen_however_late);
async fn a_request_that_comes_while_nothing_lives_is_seen_however_late(fixture: &mut Fixture) {
    assert_eq!(earliest(fixture, START).await, None);
    fixture.insert(&[1]).await;
    assert_eq!(earliest(fixture, START + DAY_MS / 2).await, Some(DAY_MS));
}

on_both!(one_bad_member_does_not_fail_the_others_of_its_group);
async fn one_bad_member_does_not_fail_the_others_of_its_group(fixture: &mut Fixture) {
    let first = fixture.request(1);
    let twin = first.clone();
    let others: Vec<_> = (2..40).map(|key| fixture.request(key)).collect();
    let store = &fixture.store;
    let inserts = [first, twin].into_iter().chain(others).map(|request| requests::insert(store, request));
    let outcomes = join_all(inserts).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_err()).count(), 1);
}
