//! Replicas outside their hours.

use super::super::*;
use super::desk::Desk;
use super::store::End;
use super::{MODEL, replica};

const FIRST: ReplicaKey = ReplicaKey(1);
const SECOND: ReplicaKey = ReplicaKey(2);

fn is_closed(desk: &Desk) -> bool {
    desk.scheduler.closed_until(FIRST).is_some()
}

fn close(desk: &mut Desk, replica: ReplicaKey, ms: i64) {
    desk.close(replica, Some(desk.now + ms), true);
}

#[test]
fn hours_change_once_by_themselves() {
    let hours = |is_open, until| EngineHours { is_open, until, is_open_for_deadlines: true };
    for (told, at_99, at_100) in [
        (hours(true, None), true, true),
        (hours(false, None), false, false),
        (hours(true, Some(100)), true, false),
        (hours(false, Some(100)), false, true),
    ] {
        assert_eq!((told.is_open_at(99), told.is_open_at(100)), (at_99, at_100), "{told:?}");
    }
}

#[test]
fn a_closed_replica_gets_nothing_and_opens_to_the_millisecond() {
    let mut desk = Desk::new(&[2]);
    close(&mut desk, FIRST, 60_050);
    assert_eq!(desk.scheduler.closed_until(FIRST), Some(desk.now + 60_050));
    assert_eq!(desk.scheduler.models_out(FIRST), [(MODEL, Some(desk.now + 60_050), None)]);
    desk.enqueue(1, 1..=3);
    desk.wait(60_000);
    assert_eq!(desk.hear(), [""; 0]);
    desk.now += 49;
    desk.feed(SchedulerInput::Tick);
    assert_eq!(desk.hear(), [""; 0]);
    desk.now += 1;
    desk.feed(SchedulerInput::Tick);
    assert_eq!(desk.hear(), ["send 1 to 1", "send 2 to 1"]);
    assert!(!is_closed(&desk));
    assert_eq!(desk.scheduler.models_out(FIRST), []);
}

#[test]
fn the_shell_is_asked_to_wake_it_when_hours_change() {
    let mut scheduler = Scheduler::new(Settings::default(), 1);
    scheduler.on(SchedulerInput::Released { added: vec![], next_ready_at: None }, 0);
    let hours = EngineHours { is_open: false, until: Some(700), is_open_for_deadlines: true };
    assert_eq!(scheduler.on(SchedulerInput::Hours { replica: FIRST, hours }, 1), []);
    let wake = scheduler.on(SchedulerInput::Replicas(vec![replica(1, 2)]), 2);
    assert_eq!(wake, [SchedulerCommand::WakeAt { at: 700 }], "hours are known before the replica is used");
    assert_eq!(scheduler.closed_until(FIRST), Some(700));
}

#[test]
fn what_is_in_flight_when_a_replica_closes_is_finished_and_what_waits_for_a_slot_is_released() {
    let mut desk = Desk::of(&[16], 1..=20);
    assert_eq!((desk.flying(), desk.waiting()), ((1..=16).collect(), 0));
    desk.hear();
    close(&mut desk, FIRST, 60_000);
    assert_eq!(desk.hear(), ["release lease 17", "release lease 18", "release lease 19", "release lease 20"]);
    (1..=16).for_each(|seq| desk.complete(seq));
    desk.wait(1_000);
    assert_eq!((desk.hear(), desk.waiting()), (vec![], 4));
    assert!(desk.scheduler.is_idle() && !desk.scheduler.is_paused(FIRST));
    desk.wait(59_000);
    assert_eq!(desk.flying(), (17..=20).collect::<Vec<_>>());
}

#[test]
fn a_lease_that_is_answered_after_the_replica_closed_is_released() {
    let mut desk = Desk::new(&[2]);
    desk.store.insert(super::partition(1), super::candidate(1));
    let added = vec![Backlog { partition: super::partition(1), count: 1 }];
    let scan = desk.scheduler.on(SchedulerInput::Released { added, next_ready_at: None }, desk.now);
    let seen = desk.store.scan(scan.into_iter().next().unwrap(), desk.now);
    let lease = desk.scheduler.on(seen, desk.now).into_iter().next().unwrap();
    let leased = desk.store.lease(lease, desk.now);
    close(&mut desk, FIRST, 60_000);
    desk.feed(leased);
    assert_eq!(desk.hear(), ["release lease 1"]);
}

#[test]
fn others_take_the_part_of_a_closed_replica() {
    let mut desk = Desk::of(&[4, 4], 1..=40);
    assert_eq!(desk.flying().len(), 8);
    close(&mut desk, FIRST, 60_000);
    while let Some(seq) = desk.flying().first() {
        desk.complete(*seq);
    }
    assert!(desk.store.ends.values().filter(|it| **it == End::Completed).count() == 40);
    let to_first = desk.hear().iter().filter(|it| it.starts_with("send") && it.ends_with("to 1")).count();
    assert_eq!(to_first, 4, "what it had when it closed");
}

#[test]
fn a_deadline_in_danger_overrules_the_hours_where_that_is_allowed() {
    for is_allowed in [true, false] {
        let mut desk = Desk::new(&[4]);
        let until = Some(desk.now + 7_200_000);
        let hours = EngineHours { is_open: false, until, is_open_for_deadlines: is_allowed };
        desk.feed(SchedulerInput::Hours { replica: FIRST, hours });
        let day = desk.now + 86_400_000;
        desk.enqueue_due(1, [(1, day), (2, desk.now + 3_600_000), (3, day), (4, desk.now + 3_600_000)]);
        desk.enqueue_due(2, [(5, day)]);
        desk.wait(32_000);
        assert_eq!(desk.flying(), if is_allowed { vec![2, 4] } else { vec![] }, "and none that has time");
        desk.flying().iter().for_each(|seq| desk.complete(*seq));
        desk.wait(40_000);
        assert_eq!((desk.flying(), is_closed(&desk)), (vec![], true), "the next count finds no danger");
    }
}

/// Completes everything in flight each second until none is left; returns what was completed.
fn work(desk: &mut Desk) -> Vec<i64> {
    let mut completed = Vec::new();
    for _ in 0..60 {
        desk.wait(1_000);
        for seq in desk.flying() {
            desk.complete(seq);
            completed.push(seq);
        }
    }
    completed.sort_unstable();
    completed
}

#[test]
fn all_that_is_in_danger_is_done_outside_the_hours_whoever_else_waits() {
    let mut desk = Desk::new(&[2]);
    close(&mut desk, FIRST, 7_200_000);
    let (soon, day) = (desk.now + 3_600_000, desk.now + 86_400_000);
    desk.enqueue_due(1, (1..=20).map(|seq| (seq, soon)));
    desk.enqueue_due(2, [(21, day)]);
    desk.enqueue_due(3, (22..=30).map(|seq| (seq, if seq % 2 == 0 { soon } else { day })));
    let expected: Vec<_> = (1..=20).chain([22, 24, 26, 28, 30]).collect();
    assert_eq!(work(&mut desk), expected);
}

#[test]
fn a_replica_that_is_open_for_deadlines_alone_keeps_no_part_of_the_order_from_others() {
    let mut desk = Desk::new(&[8, 2]);
    let (soon, day) = (desk.now + 3_600_000, desk.now + 86_400_000);
    desk.enqueue_due(1, (1..=8).map(|seq| (seq, day)));
    assert_eq!(desk.flying().len(), 8, "the first replica owns the order");
    close(&mut desk, FIRST, 7_200_000);
    desk.flying().iter().for_each(|seq| desk.complete(*seq));
    desk.enqueue_due(2, (11..=12).map(|seq| (seq, soon)));
    desk.enqueue_due(1, (21..=24).map(|seq| (seq, day)));
    assert_eq!(work(&mut desk), [11, 12, 21, 22, 23, 24]);
    let to_first = desk.hear();
    let sent = |seq: i64| to_first.contains(&format!("send {seq} to 1"));
    assert!((21..=24).all(|seq| !sent(seq)), "{to_first:?}");
}

#[test]
fn a_paused_replica_is_probed_in_its_hours_alone() {
    let mut desk = Desk::of(&[2], [1]);
    desk.status(1, 500);
    desk.probed_failed();
    assert!(desk.scheduler.is_paused(FIRST));
    close(&mut desk, FIRST, 60_000);
    desk.hear();
    desk.wait(59_900);
    assert_eq!(desk.hear(), [""; 0]);
    desk.wait(100);
    assert_eq!(desk.hear(), ["probe 1"]);
    desk.probed_healthy();
    assert_eq!(desk.hear(), ["resume 1", "send 1 to 1"]);
}

#[test]
fn what_fails_outside_the_hours_runs_again_without_a_probe() {
    let mut desk = Desk::new(&[2, 2]);
    close(&mut desk, SECOND, 60_000);
    desk.enqueue(1, [1]);
    desk.hear();
    close(&mut desk, FIRST, 60_000);
    desk.status(1, 500);
    assert_eq!(desk.hear(), ["release lease 1"], "whose fault it was stays unknown, and it does not count");
    desk.wait(60_000);
    assert_eq!(desk.flying(), [1]);
}

#[test]
fn a_closed_replica_has_no_part_in_what_one_account_may_hold() {
    let mut desk = Desk::of(&[8, 8], [1]);
    assert_eq!(desk.scheduler.model(MODEL).capacity, 16);
    close(&mut desk, SECOND, 60_000);
    assert_eq!(desk.scheduler.model(MODEL).capacity, 8);
    desk.wait(60_000);
    assert_eq!(desk.scheduler.model(MODEL).capacity, 16);
}
