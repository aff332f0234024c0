//! Engines that are started and stopped, with faults between the scheduler and their processes.

use super::super::*;
use super::desk::Desk;
use super::processes::{FIRST, desk, running, started, status, stopped, with_process};
use super::{MODEL, replica};

/// Reports an order that need not be the last one.
fn report_stopped(desk: &mut Desk, order: ProcessOrder, error: Option<&str>) {
    desk.feed(SchedulerInput::Stopped { replica: FIRST, order, error: error.map(str::to_owned) });
}

/// A desk whose idle engine was ordered to stop, with the orders to start and to stop it.
fn stopping() -> (Desk, ProcessOrder, ProcessOrder) {
    let mut desk = running([1]);
    let start = desk.scheduler.last_order(FIRST);
    desk.complete(1);
    desk.wait(62_000);
    assert_eq!((status(&desk), desk.hear().pop()), (ProcessStatus::Stopping, Some("stop 1".to_owned())));
    let stop = desk.scheduler.last_order(FIRST);
    (desk, start, stop)
}

#[test]
fn an_end_that_is_told_late_does_not_end_the_next_process() {
    let (mut desk, start, stop) = stopping();
    report_stopped(&mut desk, stop, None);
    desk.enqueue(1, [2]);
    desk.wait(12_000);
    assert_eq!((status(&desk), desk.hear().pop()), (ProcessStatus::Starting, Some("start 1".to_owned())));
    for order in [start, stop] {
        report_stopped(&mut desk, order, Some("it ended with signal 9"));
        assert_eq!((status(&desk), desk.scheduler.process_error(FIRST)), (ProcessStatus::Starting, None));
    }
    started(&mut desk);
    report_stopped(&mut desk, start, Some("it ended with signal 9"));
    desk.wait(5_000);
    assert_eq!((status(&desk), desk.flying()), (ProcessStatus::Running, vec![2]));
}

#[test]
fn one_that_ends_by_itself_while_it_is_stopped_is_started_only_once_nothing_is_left_of_it() {
    let (mut desk, start, stop) = stopping();
    desk.enqueue(1, [2]);
    report_stopped(&mut desk, start, Some("it ended with signal 15"));
    desk.wait(60_000);
    assert_eq!((status(&desk), desk.hear()), (ProcessStatus::Stopping, vec![]));
    report_stopped(&mut desk, stop, Some("port 8000 is taken by another process"));
    assert_eq!(desk.scheduler.process_error(FIRST), None, "that is no fault of its start");
    desk.wait(2_000);
    assert_eq!(desk.hear(), ["start 1"]);
}

#[test]
fn one_that_becomes_ready_after_it_counts_as_stopped_is_ended() {
    let mut desk = desk();
    desk.enqueue(1, [1]);
    desk.wait(12_000);
    let start = desk.scheduler.last_order(FIRST);
    desk.close(FIRST, None, false);
    desk.wait(2_000);
    assert_eq!(desk.hear(), ["start 1", "stop 1"]);
    stopped(&mut desk, None);
    desk.feed(SchedulerInput::Started { replica: FIRST, order: start });
    assert_eq!((status(&desk), desk.hear()), (ProcessStatus::Stopping, vec!["stop 1".to_owned()]));
}

#[test]
fn a_start_is_reckoned_with_while_the_engine_that_always_runs_is_paused() {
    let mut desk = Desk::with(vec![replica(1, 2), with_process(2, 2)]);
    let guard_ms = |desk: &Desk| desk.scheduler.start_guard_ms(MODEL);
    assert_eq!(guard_ms(&desk), 0, "nothing has to be started");
    desk.enqueue(1, 1..=4);
    desk.reset(1);
    desk.probed_failed();
    assert_eq!(guard_ms(&desk), 300_000);
    let starts = |desk: &mut Desk| desk.hear().iter().filter(|it| *it == "start 2").count();
    desk.wait(60_000);
    assert_eq!(starts(&mut desk), 1);
    desk.started(ReplicaKey(2));
    desk.probed_healthy();
    assert_eq!(guard_ms(&desk), 0);
    desk.flying().into_iter().for_each(|seq| desk.complete(seq));
    desk.flying().into_iter().for_each(|seq| desk.complete(seq));
    desk.wait(600_000);
    let stops = desk.hear().iter().filter(|it| *it == "stop 2").count();
    assert_eq!((stops, starts(&mut desk)), (1, 0), "it is stopped once and not started again");
}

/// An engine hangs: each request times out after ten minutes, and each probe after one. Returns what was in flight when it was ordered to
/// stop; `None` if that did not happen within three hours.
fn hang(desk: &mut Desk) -> Option<usize> {
    let (mut sent_at, mut probed_at) = (BTreeMap::new(), None);
    for second in 0..10_800 {
        for seq in desk.flying() {
            let since = *sent_at.entry(seq).or_insert(desk.now - if seq <= 4 { seq * 120_000 } else { 0 });
            if desk.now - since >= 600_000 {
                sent_at.remove(&seq);
                desk.fail(seq, AttemptError::TimedOut("slow".into()));
            }
        }
        if probed_at.is_some_and(|at| second - at >= 60) {
            probed_at = None;
            desk.probed(ProbeOutcome::TimedOut("no answer".into()));
        }
        desk.wait(1_000);
        let said = desk.hear();
        if said.contains(&"stop 1".to_owned()) {
            return Some(desk.flying().len());
        }
        probed_at = probed_at.or(said.contains(&"probe 1".to_owned()).then_some(second));
    }
    None
}

#[test]
fn an_engine_that_hangs_while_requests_time_out_one_after_another_is_stopped() {
    let mut desk = Desk::with(vec![with_process(1, 4)]);
    desk.enqueue(1, 1..=100);
    desk.wait(12_000);
    started(&mut desk);
    desk.hear();
    assert_eq!(hang(&mut desk), Some(0));
}

#[test]
fn one_that_answers_no_probe_is_stopped_with_what_it_never_answers() {
    let mut desk = running(1..=8);
    desk.hear();
    desk.status(1, 500);
    desk.probed_failed();
    for _ in 0..60 {
        desk.wait(5_000);
        if desk.hear().contains(&"probe 1".to_owned()) {
            desk.probed_failed();
        }
    }
    desk.wait(2_000);
    assert_eq!((status(&desk), desk.flying()), (ProcessStatus::Stopping, vec![2]));
    desk.reset(2);
    assert_eq!(desk.hear().pop(), Some("release lease 2 suspect".to_owned()), "no attempt counts");
    stopped(&mut desk, None);
    assert_eq!(desk.scheduler.process_error(FIRST).unwrap().0, "it answered no probe for 300 s");
}

#[test]
fn one_that_answers_no_probe_and_yet_its_requests_is_not_stopped_before_they_end() {
    let mut desk = Desk::with(vec![with_process(1, 3)]);
    desk.enqueue(1, 1..=3);
    desk.wait(12_000);
    started(&mut desk);
    desk.status(1, 500);
    desk.probed_failed();
    for minute in 0..9 {
        if minute == 4 {
            desk.complete(2);
        }
        desk.wait(60_000);
        if desk.hear().contains(&"probe 1".to_owned()) {
            desk.probed_failed();
        }
    }
    assert_eq!((status(&desk), desk.flying()), (ProcessStatus::Running, vec![3]));
    desk.wait(60_000);
    assert_eq!(status(&desk), ProcessStatus::Stopping);
}
