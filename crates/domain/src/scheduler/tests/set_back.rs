//! A clock that is set back while requests gather, wait for a retry and run.

use super::super::*;
use super::desk::Desk;

const HOUR_MS: i64 = 3_600_000;

#[test]
fn a_clock_that_is_set_back_holds_up_no_release() {
    for back_ms in [1, 1_000, 20_000, HOUR_MS, 25 * HOUR_MS] {
        let (mut scheduler, now) = (Scheduler::new(Settings::default(), 7), 100 * HOUR_MS);
        let first = scheduler.on(SchedulerInput::Tick, now);
        assert!(first.iter().any(|it| matches!(it, SchedulerCommand::Release { .. })), "{first:?}");
        let answer = SchedulerInput::Released { added: vec![], next_ready_at: None };
        scheduler.on(answer, now);
        let (now, ready_at) = (now - back_ms, now - back_ms + 2_000);
        let told = scheduler.on(SchedulerInput::Gathering { ready_at }, now);
        let wake_at = told.iter().find_map(|it| match it {
            SchedulerCommand::WakeAt { at } => Some(*at),
            _ => None,
        });
        assert_eq!(wake_at, Some(ready_at), "the wake-up is told by the clock as it is now");
        let due = scheduler.on(SchedulerInput::Tick, ready_at);
        assert!(due.iter().any(|it| matches!(it, SchedulerCommand::Release { .. })), "{back_ms}: {due:?}");
    }
}

#[test]
fn a_release_that_was_under_way_when_the_clock_was_set_back_is_given_up_in_time() {
    let (mut scheduler, now) = (Scheduler::new(Settings::default(), 7), 100 * HOUR_MS);
    scheduler.on(SchedulerInput::Tick, now);
    let back = now - 25 * HOUR_MS;
    assert!(scheduler.on(SchedulerInput::Tick, back + 29_000).is_empty());
    let again: Vec<_> = (30..64).flat_map(|s| scheduler.on(SchedulerInput::Tick, back + s * 1_000)).collect();
    assert!(again.iter().any(|it| matches!(it, SchedulerCommand::Release { .. })), "{again:?}");
}

#[test]
fn a_retry_is_stored_by_the_clock_as_it_is_then() {
    let mut desk = Desk::new(&[2]);
    desk.now = 100 * HOUR_MS;
    desk.enqueue(1, [1]);
    assert!(desk.sent.contains_key(&1), "{:?}", desk.said);
    let back = desk.now - 25 * HOUR_MS;
    let lease = desk.sent[&1].clone();
    let commands = desk.scheduler.on(SchedulerInput::Unread(lease), back);
    let retry_at = commands.iter().find_map(|it| match it {
        SchedulerCommand::ReleaseLease { retry_at, .. } => Some(*retry_at),
        _ => None,
    });
    assert_eq!(retry_at, Some(back + 15_000), "{commands:?}");
}
