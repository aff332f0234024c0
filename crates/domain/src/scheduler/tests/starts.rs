//! The number of a model's engines that are started.

use super::super::*;
use super::desk::Desk;
use super::processes::with_process;

fn desk(engines: u32) -> Desk {
    Desk::with((1..=engines).map(|key| with_process(key, 4)).collect())
}

fn status(desk: &Desk, key: u32) -> ProcessStatus {
    desk.scheduler.process_status(ReplicaKey(key)).unwrap().0
}

/// The engine works for so many minutes, on one request after another, each for a second.
fn work(desk: &mut Desk, minutes: i64) {
    for _ in 0..60 * minutes {
        desk.wait(1_000);
        if let Some(seq) = desk.flying().first() {
            desk.complete(*seq);
        }
    }
}

/// The first of two engines has worked for a while with all its slots, and its speed is known.
fn one_at_work() -> Desk {
    let mut desk = desk(2);
    desk.enqueue(1, 1..=3);
    desk.wait(12_000);
    desk.started(ReplicaKey(1));
    for seq in 10..100 {
        desk.enqueue(1, [seq]);
        desk.wait(1_000);
        let first = desk.flying()[0];
        desk.complete(first);
    }
    assert_eq!(status(&desk, 2), ProcessStatus::Stopped);
    desk
}

#[test]
fn as_many_engines_are_started_as_what_waits_has_need_of_slots() {
    for (requests, engines) in [(1, 1), (4, 1), (5, 2), (8, 2), (9, 3), (100, 3)] {
        let mut desk = desk(3);
        desk.enqueue(1, 1..=requests);
        desk.wait(60_000);
        let said = desk.hear();
        let starts = said.iter().filter(|it| it.starts_with("start")).count();
        assert_eq!(starts, engines, "{requests} requests: {said:?}");
    }
}

#[test]
fn of_several_devices_one_is_freed_for_a_model_with_few_requests() {
    let engine = |key: u32, device, model| Replica {
        models: vec![ModelKey(model)],
        process: with_process(key, 4)
            .process
            .map(|it| ProcessRules { device: Some(DeviceKey(device)), ..it }),
        ..with_process(key, 4)
    };
    let of = |model| QueuePartition { model: ModelKey(model), account: AccountKey(1) };
    let list = [engine(1, 1, 2), engine(2, 2, 3), engine(3, 1, 1), engine(4, 2, 1)];
    let mut desk = Desk::with(list.into());
    for model in [2, 3] {
        desk.enqueue_in(of(model), [(model, i64::MAX)]);
    }
    desk.wait(12_000);
    (1..=2).for_each(|key| desk.started(ReplicaKey(key)));
    desk.wait(2_000);
    desk.enqueue_in(of(1), [(9, desk.now + 900_000)]);
    desk.wait(60_000);
    let freed = (1..=2).filter(|key| status(&desk, *key) == ProcessStatus::Draining).count();
    assert_eq!(freed, 1);
}

#[test]
fn where_one_cannot_be_started_or_takes_too_long_another_is() {
    let mut desk = desk(2);
    desk.enqueue(1, 1..=3);
    desk.wait(12_000);
    assert_eq!((status(&desk, 1), status(&desk, 2)), (ProcessStatus::Starting, ProcessStatus::Stopped));
    desk.stopped(ReplicaKey(1), Some("no memory"));
    desk.wait(12_000);
    let is_starting = |key| status(&desk, key) == ProcessStatus::Starting;
    assert!(is_starting(1) || is_starting(2));
    let mut desk = self::desk(2);
    desk.enqueue(1, 1..=3);
    desk.wait(450_000);
    assert_eq!(status(&desk, 2), ProcessStatus::Stopped, "the first may yet be ready");
    desk.wait(30_000);
    assert_eq!(status(&desk, 2), ProcessStatus::Starting);
}

#[test]
fn another_is_started_only_for_what_those_that_run_have_not_done_until_it_would_be_ready() {
    // One a second, and a first start is expected to take five minutes.
    for (requests, is_started) in [(200, false), (400, true)] {
        let mut desk = one_at_work();
        desk.enqueue(1, 1_000..1_000 + requests);
        work(&mut desk, 1);
        assert_eq!(desk.hear().contains(&"start 2".to_owned()), is_started, "{requests} requests");
    }
}

#[test]
fn an_engine_that_runs_is_none_that_will_be_ready() {
    let mut desk = desk(2);
    desk.enqueue(1, 1..=4);
    desk.wait(12_000);
    desk.started(ReplicaKey(1));
    desk.wait(1_000);
    assert_eq!(desk.flying().len(), 4);
    // Exactly as many as its slots, which are all taken.
    let mut seqs = 10..;
    while desk.waiting() < 3 {
        desk.enqueue(1, seqs.next());
    }
    desk.wait(12_000);
    assert_eq!(status(&desk, 2), ProcessStatus::Starting);
}

#[test]
fn a_deadline_in_danger_starts_another_though_those_that_run_do_much() {
    let mut desk = one_at_work();
    let soon = desk.now + 900_000;
    desk.enqueue_due(1, (1_000..1_100).map(|seq| (seq, soon)));
    work(&mut desk, 1);
    assert!(desk.hear().contains(&"start 2".to_owned()));
}
