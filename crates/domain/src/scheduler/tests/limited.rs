//! Common parts of the tests of rate limits and of daily budgets: requests of several costs, whose used tokens count.

use super::super::*;
use super::desk::Desk;
use super::store::End;
use super::{candidate, partition, replica};

/// A desk with this replica first, and others without limits, of these slots.
pub(super) fn desk_of(first: Replica, others: &[u32]) -> Desk {
    let others = (2..).zip(others).map(|(key, slots)| replica(key, *slots));
    Desk::with([first].into_iter().chain(others).collect())
}

/// Requests of these costs enter an account's queue, numbered from `first`.
pub(super) fn enqueue(desk: &mut Desk, account: i64, first: i64, costs: &[i64]) {
    let seen = (first..).zip(costs).map(|(seq, cost)| Candidate { cost: *cost, ..candidate(seq) });
    desk.arrive(partition(account), seen);
}

pub(super) fn complete(desk: &mut Desk, seq: i64, tokens: i64) {
    let lease = desk.sent.remove(&seq).unwrap();
    assert!(desk.store.settle(&lease, End::Completed));
    desk.feed(SchedulerInput::Completed { seq, cost: tokens, tokens });
}

pub(super) fn at(desk: &mut Desk, now: i64) {
    desk.now = now;
    desk.feed(SchedulerInput::Tick);
}
