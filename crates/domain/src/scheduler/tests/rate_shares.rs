//! Shares of accounts in an engine with a limited rate.

use std::collections::{BTreeMap, BTreeSet};

use super::super::*;
use super::desk::Desk;
use super::store::End;
use super::{candidate, partition, replica};

#[derive(Clone, Copy)]
struct Habit {
    cost: i64,
    used: i64,
}

/// Two accounts always have waiting requests for so many minutes; returns the requests and tokens that each completed.
fn check(rate_limits: RateLimits, habits: [Habit; 2], minutes: i64) -> [(i64, i64); 2] {
    let mut desk = Desk::new(&[]);
    desk.feed(SchedulerInput::Replicas(vec![Replica { rate_limits, ..replica(1, 64) }]));
    let mut whose = BTreeMap::new();
    for (account, habit) in [1, 2].into_iter().zip(habits) {
        let seqs = account * 100_000..account * 100_000 + 20_000;
        whose.extend(seqs.clone().map(|seq| (seq, (account, habit.used))));
        desk.arrive(partition(account), seqs.map(|seq| Candidate { cost: habit.cost, ..candidate(seq) }));
    }
    let mut got = [(0, 0); 2];
    let mut young = BTreeSet::new();
    for _ in 0..minutes * 60 {
        desk.wait(1_000);
        // A request takes a second or two.
        for seq in std::mem::replace(&mut young, desk.flying().into_iter().collect()) {
            let Some(lease) = desk.sent.remove(&seq) else { continue };
            let (account, used) = whose[&seq];
            assert!(desk.store.settle(&lease, End::Completed));
            desk.feed(SchedulerInput::Completed { seq, cost: used, tokens: used });
            let (requests, tokens) = &mut got[usize::try_from(account - 1).unwrap()];
            (*requests, *tokens) = (*requests + 1, *tokens + used);
        }
    }
    got
}

const HONEST: Habit = Habit { cost: 1_000, used: 500 };

#[test]
fn a_flood_of_tiny_requests_leaves_an_honest_account_half_of_the_requests() {
    let limits = RateLimits { requests_per_minute: Some(60), tokens_per_minute: None };
    let [tiny, honest] = check(limits, [Habit { cost: 3, used: 2 }, HONEST], 30);
    assert!(
        (10 * tiny.0).abs_diff(10 * honest.0) <= (tiny.0 + honest.0).unsigned_abs(),
        "{tiny:?} {honest:?}"
    );
    assert!(tiny.0 + honest.0 >= 1_600, "{tiny:?} {honest:?}");
    let limits = RateLimits { tokens_per_minute: Some(60_000), ..limits };
    let [tiny, honest] = check(limits, [Habit { cost: 3, used: 2 }, HONEST], 30);
    assert!(honest.0 * 10 >= tiny.0 * 8, "{tiny:?} {honest:?}");
}

#[test]
fn who_asks_for_more_than_the_limit_and_uses_little_keeps_the_engine_from_nobody() {
    let limits = RateLimits { requests_per_minute: None, tokens_per_minute: Some(20_000) };
    let [greedy, honest] = check(limits, [Habit { cost: 100_000, used: 50 }, HONEST], 120);
    let alone = 20_000 * 120;
    assert!(honest.1 * 10 >= alone * 4, "{greedy:?} {honest:?} of {alone}");
}

#[test]
fn who_uses_as_much_as_it_asks_for_gets_no_more_tokens_than_others() {
    let limits = RateLimits { requests_per_minute: None, tokens_per_minute: Some(20_000) };
    let [large, honest] = check(limits, [Habit { cost: 10_000, used: 10_000 }, HONEST], 120);
    assert!(honest.1 * 10 >= large.1 * 8, "{large:?} {honest:?}");
}
