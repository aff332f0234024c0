//! Turns of accounts.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::super::fairness::{Choice, Model};
use super::super::segments::{IdleSlots, Taker, Turn};
use super::super::{AccountKey, RateLimits, ReplicaKey};
use super::{candidate, position};

const REPLICA: ReplicaKey = ReplicaKey(1);

fn taker(wanted: usize, idle: IdleSlots<'_>) -> Taker<'_> {
    Taker { replica: REPLICA, wanted, idle, idle_for_due_first: idle, takes_due_first_only: false }
}

fn choose(model: &mut Model, wanted: usize) -> Choice {
    model.choose(taker(wanted, &|_| Some(wanted)), |_| false, &BTreeSet::new(), 0)
}

/// Partitions with endless work take turns, `run` requests at a time, until `runs` were taken; returns the cost that each got.
fn check(costs: &[i64], capacity: i64, run: usize, runs: usize) -> Vec<i64> {
    check_asking(costs, 1, capacity, run, runs)
}

/// The same, but the first account asks for `asks` times what its requests use, which is settled when each completes.
fn check_asking(costs: &[i64], asks: i64, capacity: i64, run: usize, runs: usize) -> Vec<i64> {
    let mut model = Model::new(capacity, false);
    for (account, _) in (1_i64..).zip(costs) {
        model.partition(AccountKey(account), 0).add(i64::MAX, 0);
        model.enlist(AccountKey(account));
    }
    let mut got = BTreeMap::new();
    let mut in_flight = VecDeque::new();
    let mut seq = 0;
    let mut taken = 0;
    while taken < runs {
        let choice = choose(&mut model, run);
        for (account, range) in choice.scans {
            let cost = costs[usize::try_from(account.0).unwrap() - 1];
            let seen: Vec<_> = (0..64)
                .map(|_| {
                    seq += 1;
                    let mut candidate = candidate(seq);
                    candidate.cost = if account.0 == 1 { cost * asks } else { cost };
                    candidate
                })
                .collect();
            let partition = model.partition(account, 0);
            partition.lists.all.absorb(range.scan, seen.into_iter(), Some(position(seq)), false, 0);
        }
        let Some(account) = choice.account else { continue };
        let run = model.partition(account, 0).take(taker(1, &|_| Some(0)), run, 0);
        let used = costs[usize::try_from(account.0).unwrap() - 1];
        *got.entry(account).or_insert(0) += used * i64::try_from(run.len()).unwrap();
        let charged = model.charge(account, &run, RateLimits::default());
        in_flight.extend(run.iter().map(|it| (account, it.cost, charged.of(it.cost) - used, used)));
        while in_flight.len() > usize::try_from(capacity).unwrap()
            && let Some((account, cost, refund, used)) = in_flight.pop_front()
        {
            model.settle(account, refund);
            model.partition(account, 0).throughput.note_completion(cost, used, 1);
        }
        model.partition(account, 0).held = 0;
        taken += 1;
    }
    got.into_values().collect()
}

fn assert_even(shares: &[i64]) {
    let (least, most) = (shares.iter().min().unwrap(), shares.iter().max().unwrap());
    assert!(most * 10 <= least * 12, "{shares:?}");
}

#[test]
fn accounts_get_the_same_cost_whatever_their_requests_cost() {
    assert_even(&check(&[100, 100], 1, 1, 1_000));
    assert_even(&check(&[100, 5_000], 1, 1, 20_000));
    assert_even(&check(&[10, 700, 9_000], 256, 64, 40_000));
    assert_even(&check(&[1, 1, 1, 1, 1, 50], 8, 4, 20_000));
}

#[test]
fn who_asks_for_more_than_it_uses_gets_no_less() {
    for asks in [2, 8, 100] {
        assert_even(&check_asking(&[100, 100], asks, 1, 1, 20_000));
        assert_even(&check_asking(&[10, 700, 9_000], asks, 256, 64, 40_000));
        assert_even(&check_asking(&[100, 100, 100], asks, 64, 8, 20_000));
    }
}

#[test]
fn one_slot_takes_turns_by_the_request() {
    let shares = check(&[100, 100, 100], 1, 1, 9);
    assert_eq!(shares, [300, 300, 300]);
}

#[test]
fn a_light_account_waits_for_no_more_than_one_run_of_each_other() {
    let mut model = Model::new(8, false);
    let (heavy, light) = (AccountKey(1), AccountKey(2));
    model.partition(heavy, 0).add(1_000, 0);
    model.enlist(heavy);
    let mut turns = Vec::new();
    for turn in 0..40_i64 {
        if turn == 20 {
            model.partition(light, 0).add(1, 0);
            model.enlist(light);
        }
        let mut choice = choose(&mut model, 4);
        while choice.account.is_none() {
            for (account, range) in &choice.scans {
                let seen = (0..4).map(|index| candidate(turn * 4 + index));
                let partition = model.partition(*account, 0);
                partition.lists.all.absorb(range.scan, seen, Some(position(turn * 4 + 3)), false, 0);
            }
            choice = choose(&mut model, 4);
        }
        let account = choice.account.unwrap();
        let run = model.partition(account, 0).take(taker(1, &|_| Some(0)), 4, 0);
        model.charge(account, &run, RateLimits::default());
        model.partition(account, 0).held = 0;
        turns.push(account);
    }
    let at = turns.iter().position(|it| *it == light).unwrap();
    assert!((20..24).contains(&at), "{at}");
}

#[test]
fn no_round_begins_before_an_account_that_is_passed_over_had_its_turn() {
    let mut model = Model::new(8, false);
    let (passed, spent) = (AccountKey(1), AccountKey(2));
    for account in [passed, spent] {
        model.partition(account, 0).add(100, 0);
        model.enlist(account);
    }
    model.settle(spent, -1_000);
    let taker = taker(4, &|_| Some(4));
    let choice = model.choose(taker, |account| account == passed, &BTreeSet::new(), 0);
    assert!(choice.account.is_none() && choice.scans.is_empty(), "{choice:?}");
}

#[test]
fn an_idle_account_saves_nothing_up_and_real_usage_is_settled() {
    let mut model = Model::new(1, false);
    let account = AccountKey(1);
    model.partition(account, 0).add(2, 0);
    model.enlist(account);
    let choice = choose(&mut model, 1);
    assert_eq!(choice.scans.len(), 1);
    let (scan, seen) = (choice.scans[0].1.scan, [candidate(1)].into_iter());
    model.partition(account, 0).lists.all.absorb(scan, seen, Some(position(1)), true, 0);
    assert_eq!(choose(&mut model, 1).account, Some(account));
    let run = model.partition(account, 0).take(taker(1, &|_| Some(0)), 1, 0);
    model.charge(account, &run, RateLimits::default());
    assert!(model.partition(account, 0).deficit < 0);
    model.settle(account, -1_000);
    assert!(model.partition(account, 0).deficit < -1_000, "it used more than was estimated");
    model.settle(account, i64::MAX);
    assert!(model.partition(account, 0).deficit <= 100, "no more than a quantum is saved");
}

#[test]
fn one_account_of_several_cannot_hold_every_slot() {
    let mut model = Model::new(16, false);
    let (greedy, other) = (AccountKey(1), AccountKey(2));
    model.partition(greedy, 0).held = 16;
    assert!(model.room_of(greedy, 0) > 1_000, "alone, it may hold all of them, and what waits for them");
    model.partition(other, 0);
    assert_eq!(model.room_of(greedy, 0), 0);
    model.partition(greedy, 0).held = 13;
    assert_eq!((model.room_of(greedy, 0), model.room_of(other, 0)), (1, 14));
    assert!(model.room_of(greedy, 60_000) > 1_000, "the other has had nothing to do for a minute");
}

#[test]
fn an_account_that_holds_its_share_stops_no_round_and_saves_nothing_up() {
    let mut model = Model::new(4, false);
    let (greedy, other) = (AccountKey(1), AccountKey(2));
    for account in [greedy, other] {
        model.partition(account, 0).add(1_000, 0);
        model.enlist(account);
        let seen = (0..200).map(|index| candidate(account.0 * 1_000 + index));
        let partition = model.partition(account, 0);
        let Turn::Wait(Some(range)) = partition.turn(taker(1, &|_| Some(0)), &mut None, 0) else {
            panic!("no scan")
        };
        partition.lists.all.absorb(range.scan, seen, Some(position(account.0 * 1_000 + 199)), false, 0);
    }
    model.partition(greedy, 0).held = 3;
    for _ in 0..50 {
        assert_eq!(choose(&mut model, 1).account, Some(other));
        let run = model.partition(other, 0).take(taker(1, &|_| Some(0)), 1, 0);
        model.charge(other, &run, RateLimits::default());
        model.partition(other, 0).held = 0;
    }
    model.partition(greedy, 0).held = 0;
    let mut turns = Vec::new();
    for _ in 0..80 {
        let account = choose(&mut model, 1).account.unwrap();
        let run = model.partition(account, 0).take(taker(1, &|_| Some(0)), 1, 0);
        model.charge(account, &run, RateLimits::default());
        model.partition(account, 0).held = 0;
        turns.push(account);
    }
    let of_other = turns.iter().filter(|account| **account == other).count();
    assert!((32..=48).contains(&of_other), "{of_other} of 80 turns");
}

fn fill(model: &mut Model, account: AccountKey, count: i64) {
    let partition = model.partition(account, 0);
    partition.add(count, 0);
    let Turn::Wait(Some(range)) = partition.turn(taker(1, &|_| Some(0)), &mut None, 0) else {
        panic!("no scan")
    };
    let from = account.0 * 1_000;
    let seen = (0..count).map(|index| candidate(from + index));
    let partition = model.partition(account, 0);
    partition.lists.all.absorb(range.scan, seen, Some(position(from + count - 1)), true, 0);
    model.enlist(account);
}

fn take_one(model: &mut Model) -> AccountKey {
    let account = choose(model, 1).account.expect("a turn");
    let run = model.partition(account, 0).take(taker(1, &|_| Some(0)), 1, 0);
    model.charge(account, &run, RateLimits::default());
    model.partition(account, 0).held = 0;
    account
}

#[test]
fn who_has_taken_its_part_stands_behind_the_others_whatever_is_settled_later() {
    let mut model = Model::new(4, false);
    for account in [AccountKey(1), AccountKey(2)] {
        fill(&mut model, account, 64);
    }
    // From the second round on, parts are counted in what requests cost.
    let (first, second) = (take_one(&mut model), take_one(&mut model));
    assert_ne!(first, second);
    assert_eq!(choose(&mut model, 1).account, Some(first));
    let take_all = |model: &mut Model, account| {
        let left = model.partition(account, 0).deficit;
        assert!(left > 100);
        model.settle(account, -left);
    };
    take_all(&mut model, first);
    model.settle(first, 100);
    assert_eq!(choose(&mut model, 1).account, Some(second), "a refund brings it no place before the other");
    model.settle(first, -100);
    take_all(&mut model, second);
    model.settle(first, -100);
    assert_eq!(
        choose(&mut model, 1).account,
        Some(first),
        "it was charged late, and waits for no second turn"
    );
}

#[test]
fn who_has_work_again_goes_first_with_what_is_left_of_its_quantum() {
    // A quantum is 64 requests.
    let mut model = Model::new(16, false);
    let (heavy, light) = (AccountKey(1), AccountKey(2));
    fill(&mut model, heavy, 400);
    for _ in 0..2 {
        take_one(&mut model);
    }
    let mut of_light = 0;
    for _ in 0..100 {
        fill(&mut model, light, 1);
        if take_one(&mut model) == light {
            of_light += 1;
            continue;
        }
        break;
    }
    assert_eq!(of_light, 64, "it need not wait for the other's turn, and gets no more than a quantum");
    let turns: Vec<_> = (0..63 + 64).map(|_| take_one(&mut model)).collect();
    let of_light = turns.iter().filter(|account| **account == light).count();
    assert_eq!((of_light, turns[61], turns[62]), (1, heavy, light), "then the other has its own: {turns:?}");
}

#[test]
fn a_few_accounts_are_looked_at_together_however_many_wait() {
    let mut model = Model::new(64, false);
    for account in 1..=20 {
        model.partition(AccountKey(account), 0).add(1, 0);
        model.enlist(AccountKey(account));
    }
    let choice = choose(&mut model, 1_000);
    assert_eq!((choice.account, choice.scans.len()), (None, 8));
}
