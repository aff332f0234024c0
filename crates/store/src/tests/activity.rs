//! What ended is counted once, however it ended.

use overnight_domain::activity::{ActivityPart, ActivityRecord, PART_MS, QUARTER_MS, quarter_of};

use crate::ledger::activity;
use crate::tests::grouping;
use crate::tests::prelude::*;

const QUARTER: i64 = quarter_of(START);

/// All of it ended in the five minutes of `START`.
fn in_second_part(record: ActivityRecord) -> ActivityRecord {
    ActivityRecord { earlier: [ActivityPart::default(), record.whole()], ..record }
}

async fn list(fixture: &Fixture, first_quarter: i64) -> Vec<ActivityRecord> {
    activity::list(&fixture.store, fixture.account, first_quarter).await.expect("activity")
}

async fn cancel(fixture: &Fixture, request: &NewRequest) {
    requests::cancel(&fixture.store, fixture.account, request.id, START + 3).await.expect("a cancel");
}

async fn cancel_batch(fixture: &mut Fixture, ids: &[RequestId]) {
    let batch = grouping::new_batch(fixture, ids).await;
    let id = batch.id;
    let outcome = batches::insert(&fixture.store, batch).await.expect("a batch");
    assert!(matches!(outcome, NewBatchOutcome::Created(_)));
    let marked = batches::cancel(&fixture.store, fixture.account, id, START + 4).await.expect("a cancel");
    let CancelBatchOutcome::Marked { batch } = marked else { panic!("{marked:?}") };
    batches::cancel_chunk(&fixture.store, batch, None, START + 4).await.expect("a chunk");
}

async fn insert(fixture: &Fixture, request: &NewRequest) {
    fixture.put(request.clone()).await;
}

/// Ends requests in every way but their deadlines, and then again or too late.
async fn end_in_every_way(fixture: &mut Fixture) {
    let hold = fixture.hold("20").await;
    let taken: Vec<_> =
        (1..=7).map(|key| NewRequest { hold: hold.filter(|_| key <= 3), ..fixture.request(key) }).collect();
    for request in &taken {
        insert(fixture, request).await;
    }
    let leases = fixture.release_and_lease().await;
    assert!(fixture.settle(&leases[0], START + 2).await);
    let failed = Settlement { ending: Ending::Failed, ..fixture.settlement(&leases[1], START + 2) };
    settle::settle(&fixture.store, failed).await.expect("a settle");
    cancel_batch(fixture, &[taken[3].id, taken[4].id]).await;
    let gathers = fixture.request(8);
    insert(fixture, &gathers).await;
    for request in [&taken[2], &gathers, &taken[2], &gathers] {
        cancel(fixture, request).await;
    }
    for lease in &leases[..5] {
        assert!(!fixture.settle(lease, START + QUARTER_MS).await);
    }
}

on_both!(every_kind_of_end_is_counted_once);
async fn every_kind_of_end_is_counted_once(fixture: &mut Fixture) {
    end_in_every_way(fixture).await;
    let ended = ActivityRecord {
        quarter: QUARTER,
        completed: 1,
        failed: 1,
        cancelled: 4,
        prompt_tokens: 3,
        completion_tokens: 4,
        amount: "11".parse::<Credits>().expect("credits").nanos(),
        ..ActivityRecord::default()
    };
    let ended = in_second_part(ended);
    assert_eq!(list(fixture, 0).await, [ended]);

    let expired = expiry::expire(&fixture.store, START + DAY_MS, 10, b"{}".to_vec()).await;
    assert_eq!(expired.expect("an expiry").len(), 2);
    let day = DAY_MS / QUARTER_MS;
    let overdue = ActivityRecord { quarter: QUARTER + day, failed: 2, ..ActivityRecord::default() };
    let overdue = in_second_part(overdue);
    assert_eq!(list(fixture, 0).await, [ended, overdue]);
    assert_eq!(list(fixture, QUARTER + 1).await, [overdue]);
}

on_both!(quarters_and_accounts_are_counted_apart);
async fn quarters_and_accounts_are_counted_apart(fixture: &mut Fixture) {
    let other = fixture.other_account().await;
    let theirs = NewRequest { account: other, ..fixture.request(9) };
    insert(fixture, &theirs).await;
    let leases = fixture.leased(&[1, 2, 3]).await.1;
    let at = [START, START + PART_MS, START + QUARTER_MS - PART_MS];
    let settlements: Vec<_> =
        leases.iter().zip(at).map(|(lease, now)| fixture.settlement(lease, now)).collect();
    settle::settle_all(&fixture.store, settlements.into()).await.expect("settles");
    requests::cancel(&fixture.store, other, theirs.id, START).await.expect("a cancel");
    let completed = |it: &ActivityRecord| (it.quarter, it.parts().map(|part| part.completed));
    let told: Vec<_> = list(fixture, 0).await.iter().map(completed).collect();
    assert_eq!(told, [(QUARTER, [0, 1, 1]), (QUARTER + 1, [1, 0, 0])]);
    let theirs = activity::list(&fixture.store, other, 0).await.expect("activity");
    let cancelled = ActivityRecord { quarter: QUARTER, cancelled: 1, ..ActivityRecord::default() };
    assert_eq!(theirs, [in_second_part(cancelled)]);
    let all = activity::list_all(&fixture.store, 0).await.expect("activity");
    let told: Vec<_> = all.iter().map(|it| (completed(it), it.cancelled)).collect();
    assert_eq!(told, [((QUARTER, [0, 1, 1]), 1), ((QUARTER + 1, [1, 0, 0]), 0)]);
    let later = activity::list_all(&fixture.store, QUARTER + 1).await.expect("activity");
    assert_eq!(later, all[1..]);
}
