//! A replica that dies, the suspects it leaves, and a store that is away.

use super::super::*;
use super::desk::Desk;
use super::store::End;
use super::{candidate, partition, seen};

#[test]
fn connections_that_break_together_make_suspects_that_run_alone() {
    let mut desk = Desk::new(&[4]);
    desk.enqueue(1, 1..=6);
    desk.hear();
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
    assert_eq!(desk.flying().len(), 1, "suspects run one by one");
}

#[test]
fn a_replica_that_died_and_came_back_before_its_probe_leaves_suspects_too() {
    let mut desk = Desk::new(&[2]);
    desk.enqueue(1, 1..=2);
    desk.hear();
    desk.reset(1);
    desk.reset(2);
    desk.probed_healthy();
    assert_eq!(desk.hear(), ["probe 1", "release lease 1 suspect", "release lease 2 suspect"]);
}

#[test]
fn connections_that_break_beside_others_that_hold_are_the_requests_own() {
    let mut desk = Desk::new(&[3]);
    desk.enqueue(1, 1..=3);
    desk.hear();
    desk.reset(1);
    desk.reset(2);
    desk.probed_healthy();
    desk.probed_healthy();
    assert_eq!(desk.hear(), ["probe 1", "release lease 1 counted", "probe 1", "release lease 2 counted"]);
}

#[test]
fn a_suspect_that_runs_alone_and_completes_is_a_suspect_no_more() {
    let mut desk = Desk::new(&[2]);
    desk.enqueue(1, 1..=4);
    desk.reset(1);
    desk.reset(2);
    desk.probed_healthy();
    desk.wait(700);
    for _ in 0..2 {
        while let Some(normal) = desk.flying().into_iter().find(|seq| *seq > 2) {
            desk.complete(normal);
        }
        desk.wait(100);
        assert_eq!(desk.flying().len(), 1, "a suspect has the replica to itself");
        let seq = desk.flying()[0];
        desk.complete(seq);
    }
    while let Some(seq) = desk.flying().first() {
        desk.complete(*seq);
    }
    assert_eq!(desk.store.ends.len(), 4);
}

#[test]
fn a_poisoned_request_fails_after_five_runs_alone_and_its_neighbours_complete() {
    let mut desk = Desk::new(&[4]);
    desk.enqueue(1, 1..=40);
    let (mut kills, mut together) = (0, 0);
    for _ in 0..2_000 {
        if desk.flying().contains(&7) {
            kills += 1;
            together += i64::from(desk.flying().len() > 1);
            desk.flying().into_iter().for_each(|seq| desk.reset(seq));
        } else if let Some(seq) = desk.flying().first() {
            desk.complete(*seq);
        }
        desk.probed_healthy();
        desk.wait(100);
    }
    assert_eq!((kills, together), (6, 1), "once amid others, five times alone");
    assert_eq!(desk.store.ends.get(&7), Some(&End::Failed("engine_unavailable")));
    assert_eq!(desk.store.ends.values().filter(|end| **end == End::Completed).count(), 39);
}

#[test]
fn suspects_take_one_replica_while_the_others_go_on() {
    let mut desk = Desk::new(&[2, 2]);
    for seq in 1..=2 {
        let mut seen = candidate(seq);
        seen.suspect = true;
        desk.store.insert(partition(1), seen);
    }
    desk.enqueue(1, 3..=20);
    desk.feed(SchedulerInput::Released {
        added: vec![Backlog { partition: partition(1), count: 2 }],
        next_ready_at: None,
    });
    let said = desk.hear();
    let to_first: Vec<_> = said.iter().map(String::as_str).filter(|it| it.ends_with("to 1")).collect();
    assert_eq!((to_first, said.len()), (vec!["send 1 to 1"], 3), "{said:?}");
    desk.complete(1);
    assert_eq!(desk.hear(), ["send 2 to 1"]);
    desk.complete(2);
    assert_eq!(desk.hear().len(), 2, "the host takes ordinary work again");
}

#[test]
fn a_single_broken_connection_amid_successes_is_the_requests_own() {
    let mut desk = Desk::new(&[3]);
    desk.enqueue(1, 1..=5);
    desk.hear();
    desk.reset(2);
    desk.complete(1);
    assert_eq!(desk.hear()[..2], ["probe 1", "release lease 2 counted"]);
}

#[test]
fn a_write_that_was_not_made_is_asked_for_again_and_not_at_once() {
    let mut desk = Desk::new(&[1]);
    desk.enqueue(1, [1]);
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
    desk.store.insert(other, candidate(11));
    desk.feed(SchedulerInput::Released {
        added: vec![Backlog { partition: other, count: 1 }],
        next_ready_at: None,
    });
    desk.probed_failed();
    assert!(desk.scheduler.is_paused(ReplicaKey(1)));
    assert_eq!(
        desk.scheduler.pause_reason(ReplicaKey(1)),
        None,
        "who waits for the other model is told of no pause"
    );
    desk.wait(100);
    assert_eq!(desk.flying(), [11]);
    desk.complete(11);
    desk.wait(60_000);
    assert_eq!(desk.store.row(1).map(|row| row.is_leased), Some(false), "its own requests wait");
}

#[test]
fn a_probe_that_no_room_is_left_for_pauses_nothing() {
    let mut desk = Desk::new(&[2]);
    desk.enqueue(1, 1..=2);
    desk.hear();
    desk.fail(1, AttemptError::TimedOut("slow".into()));
    desk.probed(ProbeOutcome::TimedOut("slow".into()));
    assert_eq!(desk.hear(), ["probe 1", "release lease 1"]);
    desk.fail(2, AttemptError::TimedOut("slow".into()));
    desk.probed(ProbeOutcome::TimedOut("slow".into()));
    let said = desk.hear();
    assert!(said.iter().any(|it| it.starts_with("pause 1: ")), "nothing else keeps it busy: {said:?}");
}

#[test]
fn suspects_leave_most_of_a_replicas_time_to_others_and_accounts_take_turns_with_theirs() {
    let mut desk = Desk::new(&[2]);
    for (account, seqs) in [(1, 1..=3), (2, 11..=11)] {
        for seq in seqs {
            let mut seen = candidate(seq);
            seen.suspect = true;
            desk.store.insert(partition(account), seen);
        }
        let added = vec![Backlog { partition: partition(account), count: 3 }];
        desk.feed(SchedulerInput::Released { added, next_ready_at: None });
    }
    assert_eq!(desk.flying(), [1]);
    desk.enqueue(3, 101..=400);
    desk.wait(300);
    assert_eq!(desk.flying(), [1], "a suspect has the replica to itself");
    desk.complete(1);
    let mut order = Vec::new();
    for _ in 0..200 {
        for seq in desk.flying() {
            desk.complete(seq);
            order.push(seq);
        }
        desk.wait(100);
    }
    let place = |seq| order.iter().position(|it| *it == seq).expect("it ran");
    assert!(place(11) >= 20, "1,200 ms for others, two each 100 ms: {}", place(11));
    assert!(place(11) < place(2) && place(2) < place(3), "{order:?}");
}
