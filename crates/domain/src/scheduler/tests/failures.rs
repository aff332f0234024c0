//! Consequences of an attempt's error.

use super::super::*;
use super::desk::Desk;
use super::{candidate, partition};

fn status(code: u16) -> AttemptError {
    AttemptError::Status { code, message: "words".into(), retry_after_ms: None }
}

/// Request 1 of 1–3 fails on a replica that completed another before; compares the messages, without what is sent next.
fn check(error: &AttemptError, expected: &[&str]) {
    let mut desk = Desk::of(&[3], [0]);
    desk.complete(0);
    desk.enqueue(1, 1..=3);
    desk.hear();
    desk.fail(1, error.clone());
    desk.wait(100);
    desk.complete(2);
    desk.enqueue(1, [4]);
    desk.complete(4);
    let said: Vec<_> = desk.hear().into_iter().filter(|it| !it.starts_with("send")).collect();
    assert_eq!(said, expected, "{error:?}");
}

#[test]
fn an_error_is_tried_again_failed_or_doubted_by_its_kind() {
    let words = "words".to_owned();
    check(&AttemptError::Connect(words.clone()), &["release lease 1", "probe 1"]);
    check(&AttemptError::Reset(words.clone()), &["probe 1", "release lease 1 counted"]);
    check(&AttemptError::TimedOut(words.clone()), &["probe 1", "release lease 1 counted"]);
    check(&AttemptError::TooSlow(words.clone()), &["probe 1", "fail 1 engine_unavailable: words"]);
    check(&AttemptError::NotACompletion(words.clone()), &["probe 1", "release lease 1 counted"]);
    check(&AttemptError::BadUsage(words.clone()), &["fail 1 engine_invalid_response: words"]);
    check(&AttemptError::TooLong(words), &["fail 1 engine_invalid_response: words"]);
    for code in [408, 425, 500, 502, 504] {
        check(&status(code), &["probe 1", "release lease 1 counted"]);
    }
    for code in [429, 503] {
        check(&status(code), &["release lease 1"]);
    }
    for code in [400, 413, 422] {
        check(&status(code), &["fail 1 engine_rejected: words"]);
    }
    for code in [405, 410, 451, 501] {
        check(&status(code), &["probe 1", "fail 1 engine_rejected: words"]);
    }
    for code in [401, 402, 403, 404, 409, 423, 424, 449, 498, 499] {
        check(&status(code), &["probe 1", "release lease 1 counted"]);
    }
    check(&AttemptError::Aborted("abort".into()), &["probe 1", "release lease 1"]);
}

#[test]
fn a_tenants_refusal_never_pauses_a_healthy_replica() {
    let mut desk = Desk::heard(&[2], 1..=4);
    desk.status(1, 410);
    assert_eq!(desk.hear(), ["probe 1"]);
    desk.status(2, 410);
    assert!(desk.hear().is_empty(), "the probe under way began before; both slots are taken");
    desk.probed_healthy();
    assert_eq!(desk.hear(), ["fail 1 engine_rejected: words", "probe 1", "send 3 to 1"]);
    desk.probed_healthy();
    assert_eq!(desk.hear(), ["fail 2 engine_rejected: words", "send 4 to 1"]);
    assert!(!desk.scheduler.is_paused(ReplicaKey(1)));
}

#[test]
fn a_refusal_that_the_probe_confirms_pauses_the_replica_and_fails_nobody() {
    let mut desk = Desk::heard(&[2], 1..=3);
    desk.status(1, 401);
    desk.probed_failed();
    let reason = "the engine answered with status 401: words; its probe failed: no";
    assert_eq!(desk.hear(), ["probe 1".into(), "release lease 1".into(), format!("pause 1: {reason}")]);
    assert_eq!(desk.scheduler.pause_reason(ReplicaKey(1)), Some(reason));
    desk.status(2, 401);
    assert_eq!(desk.hear(), ["release lease 2"]);
    desk.wait(600);
    assert_eq!(desk.hear(), ["probe 1"]);
    desk.probed_failed();
    assert_eq!(desk.hear(), ["pause 1: its probe failed: no"], "the reason is the newest");
    desk.wait(1_100);
    desk.hear();
    desk.probed_healthy();
    assert_eq!(desk.hear()[0], "resume 1");
    desk.wait(100);
    assert_eq!(desk.flying().len(), 2);
}

#[test]
fn a_request_that_is_too_slow_fails_only_where_the_replica_works() {
    for (outcome, expected) in [
        (ProbeOutcome::Healthy, "fail 1 engine_unavailable: too slow"),
        (busy(), "release lease 1"),
        (ProbeOutcome::TimedOut("no answer".into()), "release lease 1"),
        (ProbeOutcome::Failed("no".into()), "release lease 1"),
    ] {
        let mut desk = Desk::heard(&[2], 1..=2);
        desk.fail(1, AttemptError::TooSlow("too slow".into()));
        desk.probed(outcome.clone());
        assert_eq!(desk.hear()[..2], ["probe 1", expected], "{outcome:?}");
    }
}

#[test]
fn a_replica_that_only_fails_is_paused_and_nobody_is_blamed() {
    let mut desk = Desk::heard(&[8], 1..=20);
    for seq in 1..=5 {
        desk.status(seq, 500);
    }
    assert_eq!(desk.hear(), ["probe 1"], "one probe tells of all of them, and their slots wait for it");
    desk.probed_failed();
    let said = desk.hear();
    let pause = "pause 1: the engine answered with status 500: words; its probe failed: no";
    assert!(said.iter().any(|it| it == pause), "{said:?}");
    assert!(!said.iter().any(|it| it.contains("counted") || it.contains("suspect")), "{said:?}");
    assert!(desk.scheduler.replicas[&ReplicaKey(1)].buffered.is_empty());
    assert!(desk.scheduler.is_paused(ReplicaKey(1)));
    desk.status(6, 500);
    assert_eq!(desk.hear(), ["release lease 6"], "what was under way is not blamed either");
}

#[test]
fn failures_of_any_number_pause_no_replica_whose_probe_is_answered() {
    let mut desk = Desk::heard(&[8], 1..=20);
    for seq in 1..=8 {
        desk.status(seq, 500);
    }
    assert_eq!(desk.hear(), ["probe 1"]);
    desk.probed_healthy();
    assert_eq!(desk.hear()[..2], ["release lease 1 counted", "probe 1"], "the others failed after it began");
    desk.probed_healthy();
    let said = desk.hear();
    assert_eq!(said.iter().filter(|it| it.ends_with(" counted")).count(), 7, "{said:?}");
    assert!(!desk.scheduler.is_paused(ReplicaKey(1)));
}

#[test]
fn a_busy_probe_tells_that_the_replica_answers() {
    let mut desk = Desk::heard(&[2], 1..=3);
    desk.status(1, 500);
    desk.fail(2, AttemptError::TimedOut("slow".into()));
    desk.probed(busy());
    assert_eq!(desk.hear(), ["probe 1", "release lease 1 counted", "release lease 2"]);
    assert!(!desk.scheduler.is_paused(ReplicaKey(1)));
}

#[test]
fn a_replica_that_cannot_be_reached_is_sent_nothing_and_waits_longer_each_time() {
    let mut desk = Desk::of(&[2], 1..=20);
    let mut last_ms = 0;
    for _ in 0..10 {
        desk.hear();
        let seq = desk.flying()[0];
        desk.fail(seq, AttemptError::Connect("refused".into()));
        assert_eq!(desk.hear(), [format!("release lease {seq}"), "probe 1".into()]);
        desk.probed_failed();
        let reason = "the engine could not be reached: refused; its probe failed: no";
        assert_eq!(desk.scheduler.pause_reason(ReplicaKey(1)), Some(reason));
        desk.flying().into_iter().for_each(|seq| desk.fail(seq, AttemptError::Connect("refused".into())));
        desk.hear();
        let paused_at = desk.now;
        while !desk.hear().contains(&"probe 1".to_owned()) {
            desk.wait(100);
        }
        last_ms = desk.now - paused_at;
        desk.probed_healthy();
        desk.wait(1_000);
        assert_eq!(desk.flying().len(), 2);
    }
    assert!((5_000..=10_100).contains(&last_ms), "{last_ms}");
    assert!(desk.store.rows.values().all(|row| row.seen.attempts == 0), "no connection, no attempt");
    let latest = desk.store.rows.values().map(|row| row.retry_at).max().unwrap_or(0);
    assert!(latest <= desk.now + 500, "only the breaker waits, not the requests");
}

#[test]
fn requests_that_only_fail_are_refunded_nothing() {
    let mut desk = Desk::of(&[1], 1..=40);
    desk.enqueue(2, 101..=140);
    let mut of_first = 0;
    for _ in 0..20 {
        let seq = desk.flying()[0];
        of_first += i32::from(seq <= 40);
        desk.status(seq, 503);
        desk.wait(6_000);
    }
    assert!((9..=11).contains(&of_first), "{of_first} of 20 turns");
}

#[test]
fn a_request_that_always_fails_is_retried_until_its_window_ends() {
    let mut desk = Desk::new(&[4]);
    let deadline = desk.now + 3_600_000;
    desk.enqueue_due(1, [(1, deadline)]);
    let mut attempts = 0;
    while desk.store.row(1).is_some() {
        if desk.flying() == [1] {
            attempts += 1;
            desk.status(1, 500);
            desk.probed_healthy();
        } else {
            desk.wait(1_000);
        }
    }
    assert!((deadline - 60_000..deadline).contains(&desk.now), "{} ms before its end", deadline - desk.now);
    assert!((10..=20).contains(&attempts), "{attempts}");
    let words = format!(
        "given up after {attempts} attempts; the last time, the engine answered with status 500: words"
    );
    assert!(desk.hear().contains(&format!("fail 1 engine_unavailable: {words}")));
}

#[test]
fn a_generation_that_the_engine_gives_up_is_repeated_uncounted_and_fails_with_its_message() {
    let mut desk = Desk::new(&[4]);
    desk.enqueue_due(1, [(1, desk.now + 60_000)]);
    let mut repeats = 0;
    while desk.store.row(1).is_some() {
        if desk.flying() == [1] {
            repeats += 1;
            desk.fail(1, AttemptError::Aborted("scheduler: abort".into()));
            desk.probed_healthy();
            assert!(desk.store.row(1).is_none_or(|row| row.seen.attempts == 0));
        } else {
            desk.wait(100);
        }
    }
    assert!(repeats >= 6, "{repeats}");
    let said = desk.hear();
    assert!(said.last().is_some_and(|it| it.ends_with("the last time, scheduler: abort")), "{said:?}");
}

#[test]
fn an_answer_that_can_never_be_read_is_paid_for_eight_times() {
    let mut desk = Desk::of(&[4], [1]);
    let mut attempts = 0;
    while desk.store.row(1).is_some() {
        if desk.flying() == [1] {
            attempts += 1;
            desk.fail(1, AttemptError::NotACompletion("no JSON at byte 7".into()));
            desk.probed_healthy();
        } else {
            desk.wait(1_000);
        }
    }
    assert_eq!(attempts, 8);
    let words = "given up after 8 attempts; the last time, no JSON at byte 7";
    assert!(desk.hear().contains(&format!("fail 1 engine_invalid_response: {words}")));
}

#[test]
fn a_request_that_waits_for_an_hourly_retry_is_found_after_a_restart() {
    let mut desk = Desk::new(&[4]);
    desk.store.insert(partition(1), candidate(1));
    let until = desk.now + 3_600_000;
    desk.store.rows.values_mut().for_each(|row| row.retry_at = until);
    desk.feed(SchedulerInput::Backlogs(vec![Backlog { partition: partition(1), count: 1 }]));
    desk.feed(SchedulerInput::Delayed(vec![(partition(1), until)]));
    desk.wait(3_590_000);
    assert!(desk.flying().is_empty());
    desk.wait(30_000);
    assert_eq!(desk.flying(), [1]);
}

fn busy() -> ProbeOutcome {
    ProbeOutcome::Busy { retry_after_ms: None, message: "full".into() }
}
