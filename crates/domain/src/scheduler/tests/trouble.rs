//! A replica that dies, the suspects it leaves, and an unreachable store.

use super::super::*;
use super::desk::Desk;
use super::{candidate, partition, seen};

const MINUTE_MS: i64 = 60_000;

#[test]
fn connections_that_break_together_make_suspects_that_run_amid_ordinary_work() {
    let mut desk = Desk::heard(&[4], 1..=6);
    desk.reset(1);
    desk.reset(2);
    assert_eq!(desk.hear(), ["probe 1"], "it is not known yet whether the replica died, and nothing is sent");
    desk.probed_failed();
    let pause = "pause 1: the connection to the engine broke: broken pipe; its probe failed: no";
    assert_eq!(desk.hear(), ["release lease 1 suspect", "release lease 2 suspect", pause, "release lease 5"]);
    desk.reset(3);
    assert_eq!(desk.hear(), ["release lease 3 suspect"]);
    desk.complete(4);
    desk.wait(1_100);
    assert_eq!(desk.hear(), ["probe 1"]);
    desk.probed_healthy();
    desk.wait(600);
    assert_eq!((&desk.flying()[..3], desk.flying().len()), (&[1, 2, 3][..], 4), "the replica is full again");
}

#[test]
fn a_replica_that_died_and_came_back_before_its_probe_leaves_suspects_too() {
    let mut desk = Desk::heard(&[2], 1..=2);
    desk.reset(1);
    desk.reset(2);
    desk.probed_healthy();
    assert_eq!(desk.hear(), ["probe 1", "release lease 1 suspect", "release lease 2 suspect"]);
}

#[test]
fn connections_that_break_beside_others_that_hold_are_the_requests_own() {
    let mut desk = Desk::heard(&[3], 1..=3);
    desk.reset(1);
    desk.reset(2);
    desk.probed_healthy();
    desk.probed_healthy();
    assert_eq!(desk.hear(), ["probe 1", "release lease 1 counted", "probe 1", "release lease 2 counted"]);
}

#[test]
fn a_single_broken_connection_amid_successes_is_the_requests_own() {
    let mut desk = Desk::heard(&[3], 1..=5);
    desk.reset(2);
    desk.complete(1);
    assert_eq!(desk.hear()[..2], ["probe 1", "release lease 2 counted"]);
}

#[test]
fn breakages_add_up_whatever_harmless_failures_come_between() {
    let mut desk = Desk::new(&[1]);
    desk.scheduler.settings.breakages_max = 2;
    desk.enqueue(1, 1..=1);
    desk.hear();
    desk.reset(1);
    desk.probed_healthy();
    assert_eq!(desk.hear(), ["probe 1", "release lease 1 counted suspect"]);
    desk.wait(MINUTE_MS);
    desk.status(1, 500);
    desk.probed_healthy();
    assert_eq!(desk.hear(), ["send 1 to 1", "probe 1", "release lease 1 counted"]);
    desk.wait(MINUTE_MS);
    desk.reset(1);
    desk.probed_healthy();
    let said = desk.hear();
    assert!(said.last().is_some_and(|it| it.starts_with("fail 1 ")), "{said:?}");
}

#[test]
fn a_write_that_was_not_made_is_asked_for_again_and_not_at_once() {
    let mut desk = Desk::of(&[1], [1]);
    let lease = desk.sent[&1].clone();
    desk.fail(1, AttemptError::TimedOut(String::new()));
    desk.hear();
    let healthy = SchedulerInput::Probed { replica: ReplicaKey(1), outcome: ProbeOutcome::Healthy };
    let commands = desk.scheduler.on(healthy, desk.now);
    let released =
        commands.into_iter().find(|it| matches!(it, SchedulerCommand::ReleaseLease { .. })).unwrap();
    desk.feed(SchedulerInput::Undone(released));
    desk.wait(400);
    assert!(desk.hear().is_empty());
    desk.wait(100);
    assert_eq!(desk.hear()[0], "release lease 1 counted");
    desk.wait(20_000);
    assert_eq!(desk.flying(), [1]);
    assert!(desk.store.row(1).is_some_and(|row| row.epoch == lease.epoch + 1));
}

#[test]
fn a_request_whose_body_cannot_be_read_waits_uncounted_and_others_go_on() {
    let mut desk = Desk::of(&[1], 1..=2);
    let lease = desk.sent.remove(&1).unwrap();
    desk.hear();
    desk.feed(SchedulerInput::Unread(lease));
    assert_eq!(desk.hear(), ["release lease 1", "send 2 to 1"], "no attempt is counted");
    assert_eq!(desk.flying(), [2], "the store is not taken for away");
    desk.complete(2);
    desk.wait(10_000);
    assert!(desk.flying().is_empty());
    desk.wait(10_000);
    assert_eq!(desk.flying(), [1]);
}

#[test]
fn a_lease_or_look_that_was_not_made_is_asked_for_again() {
    let mut scheduler = Scheduler::new(Settings::default(), 1);
    let asks = |commands: &[SchedulerCommand]| {
        commands
            .iter()
            .find(|it| matches!(it, SchedulerCommand::Scan { .. } | SchedulerCommand::Lease { .. }))
            .cloned()
    };
    scheduler.on(SchedulerInput::Replicas(vec![super::replica(1, 4)]), 0);
    let backlog = Backlog { partition: partition(1), count: 1 };
    let scan = asks(&scheduler.on(SchedulerInput::Released { added: vec![backlog], next_ready_at: None }, 0))
        .unwrap();
    assert_eq!(asks(&scheduler.on(SchedulerInput::Undone(scan.clone()), 1)), None);
    let again = asks(&scheduler.on(SchedulerInput::Tick, 501));
    assert!(matches!(again, Some(SchedulerCommand::Scan { scan: ScanKey(2), after: None, .. })), "{again:?}");
    assert_eq!(asks(&scheduler.on(seen(ScanKey(1), vec![candidate(9)], true), 502)), None, "an old answer");
    let lease = asks(&scheduler.on(seen(ScanKey(2), vec![candidate(1)], true), 502)).unwrap();
    assert_eq!(asks(&scheduler.on(SchedulerInput::Undone(lease.clone()), 503)), None);
    assert_eq!(asks(&scheduler.on(SchedulerInput::Tick, 1_003)), Some(lease.clone()));
    for second in 2..31 {
        assert_eq!(
            asks(&scheduler.on(SchedulerInput::Tick, second * 1_000)),
            None,
            "its answer may still come"
        );
    }
    let mut repeated = None;
    for second in 31..40 {
        repeated = repeated.or(asks(&scheduler.on(SchedulerInput::Tick, second * 1_000)));
    }
    assert!(repeated.is_some(), "an answer that never comes is given up");
}

#[test]
fn a_model_that_does_not_work_pauses_no_other_model_of_its_replica() {
    let mut desk = Desk::new(&[]);
    let other = QueuePartition { model: ModelKey(2), account: AccountKey(2) };
    let config = Replica { models: vec![ModelKey(1), ModelKey(2)], ..super::replica(1, 2) };
    desk.feed(SchedulerInput::Replicas(vec![config]));
    desk.enqueue(1, [1]);
    desk.status(1, 404);
    desk.arrive(other, [candidate(11)]);
    desk.probed_failed();
    assert!(desk.scheduler.is_paused(ReplicaKey(1)));
    assert_eq!(
        desk.scheduler.pause_reason(ReplicaKey(1)),
        None,
        "who waits for the other model is told of no pause"
    );
    let out = desk.scheduler.models_out(ReplicaKey(1));
    let [(ModelKey(1), Some(until), Some(reason))] = out[..] else { panic!("{out:?}") };
    assert!(until > desk.now && reason.contains("404"), "{out:?}");
    desk.wait(100);
    assert_eq!(desk.flying(), [11]);
    desk.complete(11);
    desk.wait(60_000);
    assert_eq!(desk.store.row(1).map(|row| row.is_leased), Some(false), "its own requests wait");
}

#[test]
fn a_probe_that_no_room_is_left_for_pauses_nothing() {
    let mut desk = Desk::heard(&[2], 1..=2);
    desk.fail(1, AttemptError::TimedOut("slow".into()));
    desk.probed(ProbeOutcome::TimedOut("slow".into()));
    assert_eq!(desk.hear(), ["probe 1", "release lease 1"]);
    desk.fail(2, AttemptError::TimedOut("slow".into()));
    desk.probed(ProbeOutcome::TimedOut("slow".into()));
    let said = desk.hear();
    assert!(said.iter().any(|it| it.starts_with("pause 1: ")), "nothing else keeps it busy: {said:?}");
}
