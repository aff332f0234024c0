//! Replicas with daily budgets.

use super::super::*;
use super::desk::Desk;
use super::limited::{at, complete, desk_of, enqueue};
use super::{MODEL, partition, replica};

const FIRST: ReplicaKey = ReplicaKey(1);
const DAY_MS: i64 = 86_400_000;
const TOKENS: fn(i64) -> DailyLimits =
    |most| DailyLimits { requests_per_day: None, tokens_per_day: Some(most) };
const REQUESTS: fn(u32) -> DailyLimits =
    |most| DailyLimits { requests_per_day: Some(most), tokens_per_day: None };

fn limited(max_concurrency: u32, daily_limits: DailyLimits) -> Replica {
    Replica { daily_limits, ..replica(1, max_concurrency) }
}

fn desk(slots: u32, daily_limits: DailyLimits, others: &[u32]) -> Desk {
    desk_of(limited(slots, daily_limits), others)
}

fn used(desk: &Desk) -> Option<(i64, i64)> {
    desk.scheduler.used_today(FIRST)
}

#[test]
fn a_day_has_no_more_tokens_than_the_budget_and_the_next_goes_on() {
    let mut desk = desk(2, TOKENS(1_000), &[]);
    desk.enqueue(1, 1..=30);
    for (day, total) in [(0, 10), (1, 20), (2, 30)] {
        at(&mut desk, day * DAY_MS + 2_000_000);
        for _ in 0..20 {
            desk.flying().into_iter().for_each(|seq| complete(&mut desk, seq, 100));
            desk.wait(1_000);
        }
        assert_eq!((desk.store.ends.len(), used(&desk)), (total, Some((10, 1_000))), "day {day}");
        let ends_at = (day + 1) * DAY_MS;
        let over = (total < 30).then(|| (vec![MODEL], ends_at));
        assert_eq!(desk.scheduler.over_budget(FIRST).filter(|_| total < 30), over);
        at(&mut desk, ends_at - 1);
        assert_eq!(desk.flying(), [0; 0], "until the last millisecond");
    }
    assert_eq!(desk.store.uses[&(FIRST, 1)], (10, 1_000));
}

#[test]
fn a_completion_that_used_less_than_was_reserved_makes_room_at_once() {
    let mut desk = desk(8, TOKENS(250), &[]);
    desk.enqueue(1, 1..=4);
    assert_eq!(desk.flying(), [1, 2]);
    assert!(desk.scheduler.over_budget(FIRST).is_some(), "nothing fits now");
    complete(&mut desk, 1, 20);
    assert_eq!(desk.flying(), [2, 3]);
    complete(&mut desk, 3, 150);
    complete(&mut desk, 2, 90);
    assert_eq!((desk.flying(), used(&desk)), (vec![], Some((3, 260))), "more than was estimated");
}

#[test]
fn what_the_engine_refused_used_no_tokens_and_what_broke_may_have() {
    let mut desk = desk(1, TOKENS(1_000), &[]);
    desk.enqueue(1, [1]);
    desk.status(1, 429);
    assert_eq!(used(&desk), Some((1, 0)));
    desk.wait(6_000);
    assert_eq!(used(&desk), Some((2, 100)));
    desk.fail(1, AttemptError::Connect("refused".into()));
    assert_eq!(used(&desk), Some((2, 64)), "a probe was sent instead");
    desk.probed_healthy();
    desk.wait(1_000);
    desk.reset(1);
    assert_eq!(used(&desk), Some((4, 228)), "and another one");
}

#[test]
fn another_replica_takes_all_that_waits_though_it_was_for_the_first() {
    let mut desk = desk(64, REQUESTS(3), &[4]);
    desk.enqueue(1, 1..=200);
    for _ in 0..200 {
        desk.wait(100);
        desk.flying().into_iter().for_each(|seq| desk.complete(seq));
    }
    assert_eq!(desk.store.ends.len(), 200, "in twenty seconds");
    assert_eq!(used(&desk).unwrap().0, 3);
    assert_eq!(desk.scheduler.over_budget(FIRST), Some((vec![MODEL], DAY_MS)));
}

#[test]
fn a_restart_and_another_node_go_on_from_what_was_used() {
    let mut desk = desk(1, TOKENS(1_000), &[]);
    desk.enqueue(1, 1..=20);
    for _ in 0..6 {
        let seq = desk.flying()[0];
        complete(&mut desk, seq, 100);
    }
    desk.wait(1_000);
    assert_eq!(desk.store.uses[&(FIRST, 0)], (7, 700), "one is in flight");
    // Killed: requests in flight keep their estimates.
    let store = desk.store;
    let mut next = Desk { store, ..Desk::new(&[]) };
    next.feed(SchedulerInput::Replicas(vec![limited(1, TOKENS(1_000))]));
    assert_eq!(used(&next), Some((7, 700)));
    enqueue(&mut next, 2, 100, &[100; 9]);
    for _ in 0..20 {
        next.flying().into_iter().for_each(|seq| complete(&mut next, seq, 100));
        next.wait(1_000);
    }
    assert_eq!(used(&next), Some((10, 1_000)));
}

#[test]
fn a_replica_that_comes_back_learns_what_others_used_meanwhile() {
    let mut desk = desk(1, TOKENS(1_000), &[]);
    desk.enqueue(1, 1..=20);
    desk.feed(SchedulerInput::Replicas(vec![]));
    complete(&mut desk, 1, 50);
    desk.wait(1_000);
    assert!(desk.scheduler.replicas.is_empty() && desk.store.uses[&(FIRST, 0)] == (1, 50), "all is written");
    desk.store.uses.insert((FIRST, 0), (9, 990));
    desk.feed(SchedulerInput::Replicas(vec![limited(1, TOKENS(1_000))]));
    desk.wait(1_000);
    assert_eq!((desk.flying(), used(&desk)), (vec![], Some((9, 990))));
}

#[test]
fn nothing_is_sent_before_the_store_has_told_what_was_used() {
    let mut scheduler = Scheduler::new(Settings::default(), 7);
    let asked = scheduler.on(SchedulerInput::Replicas(vec![limited(1, TOKENS(1_000))]), 1_000);
    let used = DailyUse { replica: FIRST, day: 0, requests: 0, tokens: 0 };
    assert!(asked.contains(&SchedulerCommand::CountUse(used)), "{asked:?}");
    let added = vec![Backlog { partition: partition(1), count: 1 }];
    scheduler.on(SchedulerInput::Released { added, next_ready_at: None }, 1_000);
    let undone = scheduler.on(SchedulerInput::Undone(SchedulerCommand::CountUse(used)), 1_000);
    assert!(
        !undone.iter().any(|it| matches!(it, SchedulerCommand::Scan { .. } | SchedulerCommand::CountUse(_)))
    );
    let again = scheduler.on(SchedulerInput::Tick, 1_600);
    assert!(again.contains(&SchedulerCommand::CountUse(used)), "{again:?}");
    let told = scheduler.on(SchedulerInput::Used(used), 1_700);
    assert!(told.iter().any(|it| matches!(it, SchedulerCommand::Scan { .. })), "{told:?}");
}

#[test]
fn a_request_above_the_whole_budget_is_sent_on_a_fresh_day() {
    let mut desk = desk(8, TOKENS(300), &[]);
    enqueue(&mut desk, 1, 1, &[100, 5_000]);
    assert_eq!(desk.flying(), [1]);
    complete(&mut desk, 1, 100);
    at(&mut desk, DAY_MS - 1);
    assert_eq!(desk.flying(), [0; 0]);
    at(&mut desk, DAY_MS);
    assert_eq!(desk.flying(), [2]);
    complete(&mut desk, 2, 4_000);
    assert_eq!(used(&desk), Some((1, 4_000)));
}

#[test]
fn a_request_that_takes_more_than_is_left_stops_no_other_account() {
    let mut desk = desk(1, TOKENS(1_000), &[]);
    enqueue(&mut desk, 1, 1, &[100, 5_000, 100]);
    enqueue(&mut desk, 2, 100, &[100; 20]);
    for _ in 0..20 {
        desk.flying().into_iter().for_each(|seq| complete(&mut desk, seq, 100));
        desk.wait(1_000);
    }
    assert_eq!(used(&desk), Some((10, 1_000)));
    assert!(desk.store.row(2).is_some(), "it waits for the next day");
}

#[test]
fn where_a_request_does_not_fit_any_more_another_replica_takes_it() {
    let mut desk = desk(8, TOKENS(1_000), &[1]);
    enqueue(&mut desk, 1, 1, &[100, 5_000, 100]);
    for _ in 0..20 {
        desk.flying().into_iter().for_each(|seq| complete(&mut desk, seq, 100));
        desk.wait(1_000);
    }
    assert_eq!(desk.store.ends.len(), 3);
}

#[test]
fn a_doubt_is_not_held_until_the_next_day_where_no_probe_may_be_sent() {
    let mut desk = desk(1, REQUESTS(1), &[]);
    desk.enqueue(1, [1]);
    desk.status(1, 500);
    assert_eq!(desk.hear(), ["send 1 to 1", "release lease 1"]);
    desk.wait(10_000);
    assert_eq!(desk.hear(), [""; 0]);
    at(&mut desk, DAY_MS);
    assert_eq!(desk.hear(), ["send 1 to 1"]);
}

#[test]
fn what_was_sent_is_written_once_a_second_and_handed_over_at_the_end() {
    let mut desk = desk(1, TOKENS(1_000), &[]);
    desk.enqueue(1, [1, 2]);
    desk.wait(1_000);
    assert_eq!(desk.store.uses[&(FIRST, 0)], (1, 100));
    complete(&mut desk, 1, 30);
    assert_eq!(desk.store.uses[&(FIRST, 0)], (1, 100), "a second has not passed");
    let (requests, tokens) = used(&desk).unwrap();
    let rest = desk.scheduler.take_unwritten_uses();
    assert_eq!((requests, rest.len()), (2, 1));
    assert_eq!(rest, [DailyUse { replica: FIRST, day: 0, requests: 1, tokens: tokens - 100 }]);
    assert_eq!(desk.scheduler.take_unwritten_uses(), []);
}
