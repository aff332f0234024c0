//! What the tests of rate limits and of daily budgets share: requests of several costs, of which the used tokens count.

use super::super::*;
use super::desk::Desk;
use super::store::End;
use super::{candidate, partition, replica};

/// A desk with this replica first, and others without limits, of so many slots each.
pub(super) fn desk_of(first: Replica, others: &[u32]) -> Desk {
    let others = (2..).zip(others).map(|(key, slots)| replica(key, *slots));
    Desk::with([first].into_iter().chain(others).collect())
}

/// Requests of these costs enter an account's queue, numbered from `first`.
pub(super) fn enqueue(desk: &mut Desk, account: i64, first: i64, costs: &[i64]) {
    for (seq, cost) in (first..).zip(costs) {
        desk.store.insert(partition(account), Candidate { cost: *cost, ..candidate(seq) });
    }
    let count = i64::try_from(costs.len()).unwrap();
    let added = vec![Backlog { partition: partition(account), count }];
    desk.feed(SchedulerInput::Released { added, next_ready_at: None });
}

/// A request completes that took so many tokens.
pub(super) fn complete(desk: &mut Desk, seq: i64, tokens: i64) {
    let lease = desk.sent.remove(&seq).unwrap();
    assert!(desk.store.settle(&lease, End::Completed));
    desk.feed(SchedulerInput::Completed { seq, cost: tokens, tokens });
}

/// The time comes.
pub(super) fn at(desk: &mut Desk, now: i64) {
    desk.now = now;
    desk.feed(SchedulerInput::Tick);
}
