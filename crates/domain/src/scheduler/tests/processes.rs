//! Engines that are started when there is work and stopped when there is none.

use super::super::*;
use super::desk::Desk;
use super::store::End;
use super::{MODEL, candidate, partition, replica};

pub(super) const FIRST: ReplicaKey = ReplicaKey(1);

pub(super) fn with_process(key: u32, limit: u32) -> Replica {
    let rules =
        ProcessRules { start_after_ms: 10_000, idle_stop_ms: 60_000, device: None, time_slice_ms: 3_600_000 };
    Replica { process: Some(rules), ..replica(key, limit) }
}

pub(super) fn desk() -> Desk {
    Desk::with(vec![with_process(1, 2)])
}

pub(super) fn started(desk: &mut Desk) {
    desk.started(FIRST);
}

pub(super) fn stopped(desk: &mut Desk, error: Option<&str>) {
    desk.stopped(FIRST, error);
}

pub(super) fn status(desk: &Desk) -> ProcessStatus {
    desk.scheduler.process_status(FIRST).unwrap().0
}

/// A desk whose replica runs, with these requests of account 1.
pub(super) fn running(seqs: impl IntoIterator<Item = i64>) -> Desk {
    let mut desk = desk();
    desk.enqueue(1, seqs);
    desk.wait(12_000);
    started(&mut desk);
    desk
}

#[test]
fn an_engine_is_started_when_work_has_waited_for_a_while_and_stopped_after_a_while_without() {
    let mut desk = desk();
    desk.wait(30_000);
    assert_eq!((desk.hear(), status(&desk)), (vec![], ProcessStatus::Stopped), "there is no work");
    desk.enqueue(1, 1..=3);
    desk.wait(9_000);
    assert_eq!(desk.hear(), [""; 0]);
    desk.wait(3_000);
    assert_eq!((desk.hear(), status(&desk)), (vec!["start 1".to_owned()], ProcessStatus::Starting));
    desk.wait(40_000);
    assert_eq!((desk.hear(), desk.flying()), (vec![], vec![]), "it is not ready");
    started(&mut desk);
    assert_eq!(desk.hear(), ["send 1 to 1", "send 2 to 1"]);
    (1..=3).for_each(|seq| desk.complete(seq));
    desk.hear();
    desk.wait(59_000);
    assert_eq!(desk.hear(), [""; 0]);
    desk.wait(3_000);
    assert_eq!((desk.hear(), status(&desk)), (vec!["stop 1".to_owned()], ProcessStatus::Stopping));
    desk.enqueue(1, [4]);
    desk.wait(30_000);
    assert_eq!(desk.hear(), [""; 0], "it has not ended");
    stopped(&mut desk, None);
    desk.wait(2_000);
    assert_eq!((desk.hear(), desk.scheduler.process_error(FIRST)), (vec!["start 1".to_owned()], None));
}

#[test]
fn what_the_last_start_took_tells_when_the_next_will_be_ready() {
    let mut desk = desk();
    desk.enqueue(1, [1]);
    desk.wait(12_000);
    assert_eq!(desk.scheduler.ready_at(FIRST), None, "it is the first");
    desk.wait(40_000);
    started(&mut desk);
    desk.complete(1);
    desk.wait(62_000);
    stopped(&mut desk, None);
    desk.enqueue(1, [2]);
    desk.wait(12_000);
    let (status, since) = desk.scheduler.process_status(FIRST).unwrap();
    assert_eq!((status, desk.hear().pop()), (ProcessStatus::Starting, Some("start 1".to_owned())));
    let took_ms = desk.scheduler.ready_at(FIRST).unwrap() - since;
    assert!((40_000..=42_000).contains(&took_ms), "{took_ms}");
}

#[test]
fn an_engine_that_closes_finishes_what_it_has_and_is_stopped() {
    let mut desk = running(1..=9);
    desk.hear();
    desk.close(FIRST, Some(desk.now + 600_000), true);
    desk.wait(5_000);
    assert_eq!((desk.flying(), status(&desk)), (vec![1, 2], ProcessStatus::Draining));
    (1..=2).for_each(|seq| desk.complete(seq));
    desk.wait(2_000);
    assert_eq!(desk.hear().pop(), Some("stop 1".to_owned()));
    stopped(&mut desk, None);
    desk.wait(60_000);
    assert_eq!(desk.hear(), [""; 0], "it is outside its hours");
    assert!(desk.scheduler.closed_until(FIRST).is_some());
    desk.wait(550_000);
    assert_eq!(desk.hear(), ["start 1"]);
    assert_eq!(desk.scheduler.closed_until(FIRST), None);
}

#[test]
fn a_deadline_in_danger_starts_it_at_once_and_outside_its_hours() {
    let mut desk = desk();
    desk.close(FIRST, None, true);
    let soon = desk.now + 3_600_000;
    desk.enqueue_due(1, [(1, soon), (2, i64::MAX)]);
    desk.wait(33_000);
    assert_eq!(desk.hear(), ["start 1"]);
    started(&mut desk);
    assert_eq!(desk.flying(), [1], "the other has time");
    desk.complete(1);
    desk.wait(40_000);
    assert_eq!(desk.hear().pop(), Some("stop 1".to_owned()));
}

#[test]
fn a_start_that_fails_is_repeated_after_pauses_that_grow() {
    let mut desk = desk();
    desk.enqueue(1, [1]);
    let mut starts = Vec::new();
    for second in 0..2_400 {
        desk.wait(1_000);
        if desk.hear().contains(&"start 1".to_owned()) {
            starts.push(second);
            stopped(&mut desk, Some("port 8000 is in use"));
        }
    }
    let (error, not_before) = desk.scheduler.process_error(FIRST).unwrap();
    assert_eq!((error, not_before > desk.now - 2_000), ("port 8000 is in use", true));
    let pauses: Vec<_> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!((2..=7).contains(&pauses[0]), "{pauses:?}");
    assert!(pauses.iter().skip(7).all(|pause| (150..=302).contains(pause)), "{pauses:?}");
    desk.wait(310_000);
    started(&mut desk);
    assert_eq!((desk.flying(), desk.scheduler.process_error(FIRST)), (vec![1], None));
    desk.wait(70_000);
    stopped(&mut desk, Some("it ended with signal 9"));
    desk.reset(1);
    desk.hear();
    desk.wait(17_000);
    assert_eq!(desk.hear().pop(), Some("start 1".to_owned()), "it had run for a while");
}

#[test]
fn no_attempt_counts_of_what_ran_when_an_engine_crashed() {
    let mut desk = running(1..=3);
    desk.hear();
    stopped(&mut desk, Some("it ended with signal 11"));
    assert_eq!(desk.hear(), [""; 0]);
    desk.reset(1);
    assert_eq!(desk.hear(), ["release lease 1 suspect"]);
    desk.fail(2, AttemptError::Connect("refused".into()));
    assert_eq!(desk.hear(), ["release lease 2"]);
    desk.wait(20_000);
    assert_eq!(desk.hear(), ["start 1"], "and nothing is probed meanwhile");
    started(&mut desk);
    assert_eq!(desk.flying().len(), 2);
}

#[test]
fn connections_that_break_before_the_crash_is_known_are_no_attempts_either() {
    let mut desk = running(1..=2);
    desk.hear();
    desk.reset(1);
    desk.reset(2);
    assert_eq!(desk.hear(), ["probe 1"]);
    stopped(&mut desk, Some("it ended with signal 11"));
    assert_eq!(desk.hear(), ["release lease 1 suspect", "release lease 2 suspect"]);
    desk.probed_failed();
    assert!(desk.hear().iter().all(|it| it.starts_with("pause 1")));
    desk.wait(20_000);
    started(&mut desk);
    assert_eq!(desk.flying(), [1, 2], "what was said of the last engine does not count");
}

#[test]
fn a_request_that_kills_its_engine_uses_its_attempts_up() {
    let mut desk = running(1..=8);
    for _ in 0..60 {
        if desk.flying().contains(&3) {
            stopped(&mut desk, Some("it ended with signal 11"));
            desk.flying().iter().for_each(|seq| desk.reset(*seq));
        }
        desk.flying().iter().for_each(|seq| desk.complete(*seq));
        desk.wait(310_000);
        match status(&desk) {
            ProcessStatus::Starting => started(&mut desk),
            ProcessStatus::Stopping => stopped(&mut desk, None),
            _ => {}
        }
    }
    assert_eq!(desk.store.ends[&3], End::Failed("engine_unavailable"));
    let completed = desk.store.ends.values().filter(|it| **it == End::Completed).count();
    assert_eq!((completed, desk.store.ends.len()), (7, 8));
}

#[test]
fn it_is_not_started_for_what_an_engine_that_runs_can_take() {
    let mut desk = Desk::with(vec![with_process(1, 2), replica(2, 4)]);
    desk.enqueue(1, 1..=4);
    desk.wait(60_000);
    assert_eq!((desk.flying(), status(&desk)), (vec![1, 2, 3, 4], ProcessStatus::Stopped));
    desk.enqueue(1, 5..=8);
    desk.wait(12_000);
    assert_eq!(status(&desk), ProcessStatus::Starting);
}

#[test]
fn requests_that_have_gone_start_nothing_and_those_that_nobody_told_of_do() {
    let mut desk = desk();
    desk.enqueue(1, 1..=3);
    desk.store.rows.clear();
    desk.wait(3_000_000);
    assert!(desk.hear().len() <= 1, "it is started at most once");
    let mut desk = Desk::with(vec![with_process(1, 2)]);
    desk.close(FIRST, Some(desk.now + 200_000), false);
    desk.enqueue(1, 1..=3);
    desk.store.rows.clear();
    desk.wait(300_000);
    assert_eq!(desk.hear(), [""; 0], "a count found nothing");
    desk.store.insert(partition(1), candidate(9));
    desk.wait(900_000);
    assert_eq!(desk.hear(), ["start 1"]);
}

#[test]
fn a_replica_that_does_not_run_is_no_reason_to_pause_or_close_its_models() {
    let desk = desk();
    assert_eq!(desk.scheduler.closed_until(FIRST), None);
    assert_eq!(desk.scheduler.models_out(FIRST), []);
    assert_eq!(desk.scheduler.waiting(MODEL), 0);
    assert!(!desk.scheduler.is_paused(FIRST));
}

#[test]
fn one_that_is_stopped_while_it_is_paused_is_not_said_to_be_paused() {
    let mut desk = running(1..=2);
    desk.reset(1);
    desk.reset(2);
    desk.probed_failed();
    let said = |desk: &Desk| {
        let it = &desk.scheduler;
        (it.is_paused(FIRST), it.pause_reason(FIRST).is_some(), it.process_error(FIRST).is_some())
    };
    assert_eq!(said(&desk), (true, true, false));
    stopped(&mut desk, Some("it ended with signal 11"));
    assert_eq!(said(&desk), (false, false, true));
    desk.wait(20_000);
    assert_eq!((status(&desk), said(&desk)), (ProcessStatus::Starting, (false, false, false)));
}

#[test]
fn nothing_is_started_while_the_service_ends() {
    let mut desk = desk();
    desk.enqueue(1, 1..=3);
    let commands = desk.scheduler.drain(desk.now);
    assert!(!commands.iter().any(|it| matches!(it, SchedulerCommand::Start { .. })));
    desk.wait(60_000);
    assert_eq!(desk.hear(), [""; 0]);
}

#[test]
fn one_that_answers_no_probe_for_long_is_started_anew() {
    let mut desk = running(1..=8);
    desk.reset(1);
    desk.reset(2);
    for _ in 0..60 {
        if desk.hear().contains(&"probe 1".to_owned()) {
            desk.probed_failed();
        }
        desk.wait(5_000);
    }
    assert!(desk.hear().iter().all(|it| it != "stop 1"));
    desk.probed_failed();
    desk.wait(20_000);
    desk.probed_failed();
    desk.wait(2_000);
    assert_eq!(desk.hear().pop(), Some("stop 1".to_owned()));
    stopped(&mut desk, None);
    assert_eq!(desk.scheduler.process_error(FIRST).unwrap().0, "it answered no probe for 300 s");
    desk.wait(10_000);
    assert_eq!(desk.hear().pop(), Some("start 1".to_owned()));
    started(&mut desk);
    assert_eq!(desk.flying().len(), 2);
}

#[test]
fn a_request_that_hangs_its_engine_uses_its_attempts_up_and_harms_no_neighbour() {
    let mut desk = running(1..=8);
    for _ in 0..200 {
        let hangs = desk.flying().contains(&3);
        for seq in desk.flying() {
            match hangs {
                true => desk.fail(seq, AttemptError::TimedOut("slow".into())),
                false => desk.complete(seq),
            }
        }
        for _ in 0..if hangs { 40 } else { 1 } {
            desk.wait(10_000);
            if hangs && desk.hear().contains(&"probe 1".to_owned()) {
                desk.probed_failed();
            }
        }
        match status(&desk) {
            ProcessStatus::Starting => started(&mut desk),
            ProcessStatus::Stopping => stopped(&mut desk, None),
            _ => {}
        }
    }
    assert_eq!(desk.store.ends.get(&3), Some(&End::Failed("engine_unavailable")));
    let completed = desk.store.ends.values().filter(|it| **it == End::Completed).count();
    assert_eq!((completed, desk.store.ends.len()), (7, 8));
}

#[test]
fn a_start_is_given_up_when_the_hours_close_and_that_is_no_fault_of_it() {
    let mut desk = desk();
    desk.enqueue(1, 1..=3);
    desk.wait(12_000);
    stopped(&mut desk, Some("no such model"));
    desk.wait(10_000);
    assert_eq!(desk.hear().pop(), Some("start 1".to_owned()));
    desk.close(FIRST, Some(desk.now + 600_000), true);
    desk.wait(2_000);
    assert_eq!(desk.hear().pop(), Some("stop 1".to_owned()));
    stopped(&mut desk, Some("it could not be started: it was stopped"));
    stopped(&mut desk, None);
    assert_eq!((status(&desk), desk.scheduler.process_error(FIRST)), (ProcessStatus::Stopped, None));
}
