//! The usual path: release, scan, lease, send, end.

use super::super::*;
use super::desk::Desk;
use super::store::End;
use super::{candidate, partition, position, replica, seen};

#[test]
fn requests_are_sent_in_key_order_up_to_the_limit_and_slots_refill() {
    let mut desk = Desk::of(&[2], [3, 1, 2, 4]);
    assert_eq!(desk.hear(), ["send 1 to 1", "send 2 to 1"]);
    assert_eq!((desk.waiting(), desk.scheduler.in_flight(ReplicaKey(1))), (2, 2));
    desk.complete(2);
    assert_eq!(desk.hear(), ["send 3 to 1"]);
    desk.complete(1);
    desk.complete(3);
    desk.complete(4);
    assert!(desk.scheduler.is_idle() && desk.waiting() == 0 && desk.store.ends.len() == 4);
}

#[test]
fn a_release_is_asked_for_when_the_earliest_request_has_gathered() {
    let mut scheduler = Scheduler::new(Settings::default(), 1);
    let first = scheduler.on(SchedulerInput::Tick, 0);
    assert_eq!(first, [SchedulerCommand::Release { limit: 1024 }], "what gathered before the start");
    let wake = scheduler.on(SchedulerInput::Released { added: vec![], next_ready_at: None }, 1);
    assert_eq!(wake, [SchedulerCommand::WakeAt { at: 30_000 }]);
    assert_eq!(
        scheduler.on(SchedulerInput::Gathering { ready_at: 900 }, 2),
        [SchedulerCommand::WakeAt { at: 900 }]
    );
    assert_eq!(scheduler.on(SchedulerInput::Gathering { ready_at: 950 }, 3), []);
    assert_eq!(scheduler.on(SchedulerInput::Tick, 899), []);
    assert!(scheduler.on(SchedulerInput::Tick, 900).contains(&SchedulerCommand::Release { limit: 1024 }));
    assert_eq!(scheduler.on(SchedulerInput::Tick, 950), [], "one release at a time");
    let added = vec![Backlog { partition: partition(1), count: 1 }];
    let again = scheduler.on(SchedulerInput::Released { added, next_ready_at: Some(950) }, 951);
    let burst_ends = SchedulerCommand::WakeAt { at: 1_951 };
    assert_eq!(again, [SchedulerCommand::Release { limit: 1024 }, burst_ends], "more is about to come");
    let held = scheduler.on(SchedulerInput::Released { added: vec![], next_ready_at: Some(950) }, 952);
    assert_eq!(
        held,
        [SchedulerCommand::WakeAt { at: 1_202 }],
        "another node holds what is ready, for a moment"
    );
}

#[test]
fn two_idle_replicas_share_a_short_backlog() {
    let mut desk = Desk::of(&[4, 4], 1..=6);
    let to_first = desk.hear().iter().filter(|it| it.ends_with("to 1")).count();
    assert_eq!((to_first, desk.flying().len()), (3, 6));
}

#[test]
fn a_cancelled_request_is_aborted_and_its_slot_is_used_again() {
    let mut desk = Desk::heard(&[1], [1, 2]);
    desk.store.finish(1, End::Cancelled);
    desk.feed(SchedulerInput::Ended { seqs: vec![1, 99] });
    assert_eq!(desk.hear(), ["abort 1", "send 2 to 1"]);
    desk.feed(SchedulerInput::Completed { seq: 1, cost: 5, tokens: 5 });
    desk.feed(SchedulerInput::AttemptFailed { seq: 1, error: AttemptError::Reset(String::new()) });
    assert_eq!(desk.hear(), [""; 0], "an answer that comes too late is ignored");
}

#[test]
fn a_request_that_ends_while_it_is_being_leased_is_never_sent() {
    let mut scheduler = Scheduler::new(Settings::default(), 1);
    scheduler.on(SchedulerInput::Replicas(vec![replica(1, 4)]), 0);
    let backlog = Backlog { partition: partition(1), count: 1 };
    scheduler.on(SchedulerInput::Released { added: vec![backlog], next_ready_at: None }, 0);
    let candidates = vec![candidate(1)];
    let asked = scheduler.on(seen(ScanKey(1), candidates, true), 1);
    assert!(matches!(&asked[0], SchedulerCommand::Lease { positions, .. } if *positions == [position(1)]));
    scheduler.on(SchedulerInput::Ended { seqs: vec![1] }, 2);
    let lease = Lease { key: QueueKey { partition: partition(1), position: position(1) }, epoch: 1 };
    let leased = SchedulerInput::Leased {
        replica: ReplicaKey(1),
        partition: partition(1),
        leases: vec![lease],
        gone: vec![],
    };
    assert!(scheduler.on(leased, 3).iter().all(|it| !matches!(it, SchedulerCommand::Send { .. })));
    assert!(scheduler.is_idle());
}

#[test]
fn a_replica_that_leaves_finishes_what_is_in_flight_and_gives_back_the_rest() {
    let mut desk = Desk::of(&[4], 1..=9);
    assert_eq!(
        (desk.flying(), desk.scheduler.replicas[&ReplicaKey(1)].buffered.len()),
        (vec![1, 2, 3, 4], 1)
    );
    desk.hear();
    desk.feed(SchedulerInput::Replicas(vec![replica(2, 2)]));
    assert_eq!(desk.hear(), ["release lease 5", "send 6 to 2", "send 7 to 2"]);
    desk.complete(1);
    assert_eq!(desk.hear(), [""; 0]);
    for seq in 2..=4 {
        desk.complete(seq);
    }
    desk.wait(200);
    for _ in 0..5 {
        let seq = desk.flying()[0];
        desk.complete(seq);
    }
    assert_eq!(desk.store.ends.len(), 9);
}

#[test]
fn work_for_a_model_without_replicas_waits() {
    let mut desk = Desk::of(&[], 1..=3);
    desk.wait(60_000);
    assert_eq!((desk.hear(), desk.waiting()), (vec![], 3));
    desk.feed(SchedulerInput::Replicas(vec![replica(1, 8)]));
    assert_eq!(desk.flying(), [1, 2, 3]);
}

#[test]
fn a_drained_scheduler_gives_back_what_was_not_sent_and_starts_nothing() {
    let mut desk = Desk::heard(&[8], 1..=20);
    let released = desk.scheduler.drain(desk.now);
    assert_eq!(released.iter().filter(|it| matches!(it, SchedulerCommand::ReleaseLease { .. })).count(), 2);
    for seq in 1..=8 {
        desk.complete(seq);
    }
    desk.wait(60_000);
    assert!(desk.hear().is_empty() && desk.scheduler.is_idle());
}

#[test]
fn a_restart_finds_rows_whose_retry_time_no_count_tells() {
    let mut desk = Desk::new(&[2]);
    desk.store.insert(partition(1), candidate(1));
    desk.store.release_later(1, desk.now + 25_000);
    desk.feed(SchedulerInput::Backlogs(vec![Backlog { partition: partition(1), count: 1 }]));
    assert_eq!(desk.waiting(), 0, "the scan that saw nothing corrected the count");
    desk.wait(50_000);
    assert_eq!(desk.hear(), ["send 1 to 1"]);
}

#[test]
fn a_large_backlog_is_leased_by_the_run_and_a_short_run_does_not_wait_for_more_work() {
    let mut desk = Desk::of(&[256], 1..=3);
    assert_eq!(desk.flying().len(), 3);
    desk.enqueue(1, 4..=5_000);
    assert_eq!(desk.flying().len(), 256);
    let mut sizes = Vec::new();
    let mut next = 1;
    while desk.store.ends.len() < 4_000 {
        let before = desk.store.rows.values().filter(|row| row.is_leased).count();
        desk.complete(next);
        let after = desk.store.rows.values().filter(|row| row.is_leased).count();
        if after >= before {
            sizes.push(after + 1 - before);
        }
        next += 1;
    }
    assert!(sizes.iter().all(|size| *size >= 64), "{sizes:?}");
}

#[test]
fn what_other_nodes_brought_into_a_shared_queue_is_heard_of_and_leased() {
    let settings = Settings { is_shared: true, ..Settings::default() };
    let mut scheduler = Scheduler::new(settings, 1);
    let released = |next_ready_at| SchedulerInput::Released { added: vec![], next_ready_at };
    scheduler.on(SchedulerInput::Replicas(vec![replica(1, 2)]), 0);
    scheduler.on(released(None), 0);
    let heard = scheduler.on(SchedulerInput::Waiting(vec![partition(1)]), 210);
    assert!(matches!(heard[..], [SchedulerCommand::Release { .. }, ..]), "does more follow? {heard:?}");
    let more = scheduler.on(released(Some(230)), 211);
    assert!(matches!(more[..], [SchedulerCommand::WakeAt { at: 230 }]), "{more:?}");
    scheduler.on(SchedulerInput::Tick, 230);
    let heard = scheduler.on(released(None), 231);
    assert!(matches!(heard[..], [SchedulerCommand::Scan { after: None, limit: 64, .. }, ..]), "{heard:?}");
    let candidates = vec![candidate(5), candidate(6), candidate(7)];
    let leased = scheduler.on(seen(ScanKey(1), candidates, false), 232);
    assert!(
        leased
            .iter()
            .any(|it| matches!(it, SchedulerCommand::Lease { positions, .. } if positions.len() == 2))
    );
    assert_eq!(scheduler.on(SchedulerInput::Waiting(vec![partition(1)]), 233), [], "it is known already");
}

#[test]
fn what_requests_take_is_learnt_from_sixteen() {
    let mut desk = Desk::new(&[8]);
    let known = |desk: &Desk| desk.scheduler.paces(partition(1).model).collect::<Vec<_>>();
    for seq in 1..=16 {
        assert_eq!(known(&desk), [], "fewer tell nothing");
        desk.enqueue(1, [seq]);
        desk.hear();
        desk.complete(seq);
    }
    let [(account, pace)] = known(&desk)[..] else { panic!("{:?}", known(&desk)) };
    assert_eq!((account, pace.most_part), (partition(1).account, None));
}

/// Requests 1 to 16 of account 1 use a hundredth of their estimates.
fn train(desk: &mut Desk) {
    for seq in 1..=16 {
        desk.enqueue(1, [seq]);
        desk.sent.remove(&seq).unwrap();
        desk.feed(SchedulerInput::Completed { seq, cost: 1, tokens: 1 });
    }
    desk.hear();
}

#[test]
fn what_ends_without_a_completion_is_charged_all_of_its_estimate() {
    type Ending = fn(&mut Desk, i64);
    let endings: [(&str, Ending, i64); 5] = [
        ("cancelled", |desk, seq| desk.feed(SchedulerInput::Ended { seqs: vec![seq] }), 100),
        (
            "refused",
            |desk, seq| {
                desk.status(seq, 400);
                desk.probed_healthy();
            },
            100,
        ),
        ("busy", |desk, seq| desk.status(seq, 429), 100),
        ("never seen", |desk, seq| desk.fail(seq, AttemptError::Connect("refused".into())), 0),
        ("completed", |desk, seq| desk.feed(SchedulerInput::Completed { seq, cost: 7, tokens: 7 }), 7),
    ];
    for (name, ending, charged) in endings {
        let mut desk = Desk::new(&[2]);
        train(&mut desk);
        let deficit =
            |desk: &mut Desk| desk.scheduler.model(super::MODEL).partition(AccountKey(1), 0).deficit;
        desk.enqueue(1, [100]);
        let before = deficit(&mut desk) + 1;
        ending(&mut desk, 100);
        assert_eq!(before - deficit(&mut desk), charged, "{name}");
    }
}

#[test]
fn who_is_new_is_charged_what_the_others_use() {
    let mut desk = Desk::new(&[2]);
    train(&mut desk);
    let charge = |desk: &mut Desk, account| {
        let model = desk.scheduler.model(super::MODEL);
        model.partition(AccountKey(account), 0);
        model.charge(AccountKey(account), &[candidate(500)], RateLimits::default()).of(100)
    };
    assert_eq!((charge(&mut desk, 1), charge(&mut desk, 2)), (1, 1));
    assert_eq!(charge(&mut Desk::new(&[2]), 2), 100, "nothing is known");
}

#[test]
fn who_holds_as_many_requests_as_it_may_is_known_by_the_slots_it_takes() {
    let mut desk = Desk::new(&[8]);
    let part = |desk: &Desk| Some(desk.scheduler.paces(partition(1).model).next()?.1.most_part);
    desk.enqueue(2, [1]);
    desk.enqueue(1, 2..=600);
    for _ in 0..60 {
        desk.hear();
        desk.wait(1_000);
        let flying = desk.flying();
        assert_eq!(flying.len(), 8);
        flying.into_iter().filter(|seq| *seq > 1).for_each(|seq| desk.complete(seq));
    }
    let part = part(&desk).flatten().unwrap();
    assert!((0.8..=0.9).contains(&part), "{part} of the slots, where 7 of 8 are taken");
}

#[test]
fn a_lease_that_is_lost_is_dropped_and_a_later_one_of_the_same_request_stays() {
    let mut desk = Desk::heard(&[1], [1]);
    let lease = desk.sent[&1].clone();
    desk.feed(SchedulerInput::Lost(vec![Lease { epoch: lease.epoch - 1, ..lease.clone() }]));
    assert_eq!(desk.hear(), [""; 0], "an older lease is another's affair");
    desk.feed(SchedulerInput::Lost(vec![lease]));
    assert_eq!(desk.hear(), ["abort 1"]);
}
