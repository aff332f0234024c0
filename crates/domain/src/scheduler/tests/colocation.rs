//! Engines that also serve others.

use super::super::colocation::Colocation;
use super::super::*;
use super::desk::Desk;
use super::replica;

const FIRST: ReplicaKey = ReplicaKey(1);

fn colocated(key: u32, max_concurrency: u32, percent: u8) -> Replica {
    Replica { colocated_percent: Some(percent), ..replica(key, max_concurrency) }
}

/// Runs up to `room` requests concurrently, first come, first served.
struct Engine {
    room: i64,
    online: i64,
}

impl Engine {
    /// Its load while so many of its requests are ours.
    fn load(&self, ours: usize) -> EngineLoad {
        let all = self.online + i64::try_from(ours).unwrap();
        let running = all.min(self.room);
        EngineLoad { running, waiting: all - running, cache_permille: 0, preemptions: 0 }
    }
}

/// The limit in each of so many seconds, if all of it is used.
fn limits(colocation: &mut Colocation, engine: &Engine, seconds: i64) -> Vec<usize> {
    let told = |second| {
        let ours = colocation.current();
        colocation.note_load(engine.load(ours), ours, second * 1_000);
        colocation.current()
    };
    (0..seconds).map(told).collect()
}

#[test]
fn it_grows_from_none_to_the_share_while_nothing_waits() {
    let mut colocation = Colocation::new(&colocated(1, 64, 50)).unwrap();
    assert_eq!(colocation.current(), 0, "nothing is sent before the load is told");
    let seen = limits(&mut colocation, &Engine { room: 64, online: 0 }, 20);
    assert_eq!(seen[..3], [2, 4, 6]);
    assert_eq!(seen[15..], [32; 5]);
    let mut small = Colocation::new(&colocated(1, 3, 10)).unwrap();
    assert_eq!(limits(&mut small, &Engine { room: 3, online: 0 }, 2), [1, 1], "one at least");
}

#[test]
fn what_others_use_is_left_to_them_before_anything_waits() {
    let mut colocation = Colocation::new(&colocated(1, 64, 50)).unwrap();
    let seen = limits(&mut colocation, &Engine { room: 64, online: 50 }, 30);
    assert!(seen.iter().all(|it| *it <= 14), "{seen:?}");
    assert_eq!(seen[29], 14);
}

#[test]
fn it_is_halved_down_to_none_while_requests_wait_and_grows_again_after() {
    let mut colocation = Colocation::new(&colocated(1, 64, 50)).unwrap();
    // It runs fewer than configured.
    let mut engine = Engine { room: 20, online: 0 };
    limits(&mut colocation, &engine, 20);
    assert_eq!(colocation.current(), 22, "of ours alone, two wait");
    engine.online = 40;
    assert_eq!(limits(&mut colocation, &engine, 6), [11, 5, 2, 1, 0, 0], "of 22 in flight");
    assert_eq!(limits(&mut colocation, &engine, 3), [0; 3]);
    engine.online = 5;
    let seen = limits(&mut colocation, &engine, 60);
    assert_eq!(seen[..3], [2, 4, 6]);
    assert!(seen.iter().all(|it| *it <= 18), "{seen:?}");
}

#[test]
fn requests_of_ours_that_wait_alone_are_no_reason_to_yield_nor_to_grow() {
    let mut colocation = Colocation::new(&colocated(1, 64, 50)).unwrap();
    limits(&mut colocation, &Engine { room: 64, online: 0 }, 4);
    let load = EngineLoad { running: 6, waiting: 2, cache_permille: 0, preemptions: 0 };
    colocation.note_load(load, 8, 5_000);
    assert_eq!(colocation.current(), 8);
}

#[test]
fn a_replica_that_is_not_told_of_is_sent_nothing() {
    let mut desk = Desk::new(&[]);
    desk.feed(SchedulerInput::Replicas(vec![colocated(1, 4, 50)]));
    desk.enqueue(1, 1..=6);
    desk.wait(10_000);
    assert_eq!(desk.flying(), [0; 0]);
    let load = EngineLoad { running: 0, waiting: 0, cache_permille: 0, preemptions: 0 };
    desk.feed(SchedulerInput::Load { replica: FIRST, load });
    assert_eq!(desk.flying(), [1]);
    desk.feed(SchedulerInput::Load { replica: FIRST, load });
    assert_eq!(desk.flying(), [1, 2]);
    desk.wait(6_000);
    desk.complete(1);
    assert_eq!((desk.flying(), desk.scheduler.concurrency_limit(FIRST)), (vec![2], Some(0)));
    desk.feed(SchedulerInput::Load { replica: FIRST, load });
    assert_eq!(desk.flying(), [2], "one is in flight yet");
    desk.complete(2);
    assert_eq!(desk.flying(), [3]);
}

#[test]
fn who_yields_leaves_its_part_to_other_replicas() {
    let mut desk = Desk::new(&[]);
    desk.feed(SchedulerInput::Replicas(vec![colocated(1, 64, 50), replica(2, 4)]));
    let load = |running, waiting| EngineLoad { running, waiting, cache_permille: 0, preemptions: 0 };
    (0..4).for_each(|_| desk.feed(SchedulerInput::Load { replica: FIRST, load: load(0, 0) }));
    desk.enqueue(1, 1..=40);
    assert_eq!(desk.scheduler.in_flight(FIRST), 8);
    for _ in 0..4 {
        desk.feed(SchedulerInput::Load { replica: FIRST, load: load(64, 9) });
    }
    assert_eq!(desk.scheduler.concurrency_limit(FIRST), Some(0));
    desk.wait(1_000);
    while let Some(seq) = desk.flying().first() {
        desk.complete(*seq);
    }
    assert_eq!(desk.store.ends.len(), 40);
    let to_first = desk.hear().iter().filter(|it| it.starts_with("send") && it.ends_with("to 1")).count();
    assert_eq!(to_first, 8, "what it had when the others came");
}
