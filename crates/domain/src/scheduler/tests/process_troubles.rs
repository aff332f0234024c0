//! Engines that are started and stopped, when something goes wrong between the scheduler and their processes.

use super::super::*;
use super::desk::Desk;
use super::processes::{FIRST, desk, running, started, status, stopped, with_process};
use super::{MODEL, replica};

/// A report of an order that need not be the last one.
fn report_stopped(desk: &mut Desk, order: ProcessOrder, error: Option<&str>) {
    desk.feed(SchedulerInput::Stopped { replica: FIRST, order, error: error.map(str::to_owned) });
}

/// A desk whose engine has become idle and was told to stop, with the orders to start and to stop it.
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
    let hours = EngineHours { is_open: false, until: None, is_open_for_deadlines: false };
    desk.feed(SchedulerInput::Hours { replica: FIRST, hours });
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
    let order = desk.scheduler.last_order(ReplicaKey(2));
    desk.feed(SchedulerInput::Started { replica: ReplicaKey(2), order });
    desk.probed_healthy();
    assert_eq!(guard_ms(&desk), 0);
    desk.flying().into_iter().for_each(|seq| desk.complete(seq));
    desk.flying().into_iter().for_each(|seq| desk.complete(seq));
    desk.wait(600_000);
    let stops = desk.hear().iter().filter(|it| *it == "stop 2").count();
    assert_eq!((stops, starts(&mut desk)), (1, 0), "it is stopped once and not started again");
}
