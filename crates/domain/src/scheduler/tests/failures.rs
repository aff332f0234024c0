//! What an attempt's error leads to.

use super::super::*;
use super::desk::Desk;

fn status(code: u16) -> AttemptError {
    AttemptError::Status { code, message: "words".into(), retry_after_ms: None }
}

/// Request 1 of 1–3 fails so on a replica that completed another before; what is said, but for what is sent next.
fn check(error: &AttemptError, expected: &[&str]) {
    let mut desk = Desk::new(&[3]);
    desk.enqueue(1, [0]);
    desk.complete(0);
    desk.enqueue(1, 1..=3);
    desk.hear();
    desk.fail(1, error.clone());
    desk.wait(100);
    desk.complete(2);
    let said: Vec<_> = desk.hear().into_iter().filter(|it| !it.starts_with("send")).collect();
    assert_eq!(said, expected, "{error:?}");
}

#[test]
fn an_error_is_tried_again_failed_or_doubted_by_its_kind() {
    let words = "words".to_owned();
    check(&AttemptError::Connect(words.clone()), &["release lease 1"]);
    check(&AttemptError::Reset(words.clone()), &["release lease 1 counted"]);
    check(&AttemptError::TimedOut(words.clone()), &["release lease 1 counted"]);
    check(&AttemptError::NotACompletion(words.clone()), &["release lease 1 counted"]);
    check(&AttemptError::BadUsage(words), &["fail 1 engine_invalid_response: words"]);
    for code in [408, 425, 500, 502, 504] {
        check(&status(code), &["release lease 1 counted"]);
    }
    for code in [429, 503] {
        check(&status(code), &["release lease 1"]);
    }
    for code in [400, 413, 422] {
        check(&status(code), &["fail 1 engine_rejected: words"]);
    }
    for code in [401, 403, 404, 405, 410] {
        check(&status(code), &["probe 1"]);
    }
}

#[test]
fn a_tenants_refusal_never_pauses_a_healthy_replica() {
    let mut desk = Desk::new(&[2]);
    desk.enqueue(1, 1..=4);
    desk.hear();
    desk.status(1, 404);
    assert_eq!(desk.hear(), ["probe 1"]);
    desk.status(2, 404);
    assert!(desk.hear().is_empty(), "the probe under way began before; both slots are taken");
    desk.probed(true);
    assert_eq!(desk.hear(), ["fail 1 engine_rejected: words", "probe 1", "send 3 to 1"]);
    desk.probed(true);
    assert_eq!(desk.hear(), ["fail 2 engine_rejected: words", "send 4 to 1"]);
    assert!(!desk.scheduler.is_paused(ReplicaKey(1)));
}

#[test]
fn a_refusal_that_the_probe_confirms_pauses_the_replica_and_fails_nobody() {
    let mut desk = Desk::new(&[2]);
    desk.enqueue(1, 1..=3);
    desk.hear();
    desk.status(1, 401);
    desk.probed(false);
    let reason = "the engine refused a request (401: words) and its probe failed";
    assert_eq!(desk.hear(), ["probe 1".into(), "release lease 1".into(), format!("pause 1: {reason}")]);
    assert_eq!(desk.scheduler.pause_reason(ReplicaKey(1)), Some(reason));
    desk.status(2, 401);
    assert_eq!(desk.hear(), ["release lease 2"]);
    desk.wait(600);
    assert_eq!(desk.hear(), ["probe 1"]);
    desk.probed(false);
    assert_eq!(desk.hear(), [format!("pause 1: {reason}")]);
    desk.wait(1_100);
    desk.probed(true);
    desk.wait(100);
    assert_eq!(desk.flying().len(), 1, "one request at a time until one succeeds");
    let seq = desk.flying()[0];
    desk.complete(seq);
    assert!(desk.hear().contains(&"resume 1".to_owned()));
    assert_eq!(desk.flying().len(), 2);
}

#[test]
fn a_busy_engine_gets_a_short_pause_and_retry_after_is_honoured() {
    let mut desk = Desk::new(&[2]);
    desk.enqueue(1, 1..=4);
    desk.hear();
    let error = AttemptError::Status { code: 429, message: String::new(), retry_after_ms: Some(3_000) };
    desk.fail(1, error);
    assert_eq!((desk.hear(), desk.flying()), (vec!["release lease 1".to_owned()], vec![2]));
    assert!(desk.store.row(1).is_some_and(|row| row.retry_at >= desk.now + 3_000 && row.seen.attempts == 0));
    desk.wait(2_900);
    assert!(desk.hear().is_empty() && !desk.scheduler.is_paused(ReplicaKey(1)));
    desk.wait(100);
    assert_eq!(desk.hear(), ["send 3 to 1"]);
}

#[test]
fn a_replica_that_only_fails_is_paused_and_nobody_is_blamed() {
    let mut desk = Desk::new(&[8]);
    desk.enqueue(1, 1..=20);
    desk.hear();
    for seq in 1..=5 {
        desk.status(seq, 500);
    }
    let said = desk.hear();
    assert!(said.iter().any(|it| it == "pause 1: the engine answered with status 500: words"), "{said:?}");
    assert!(!said.iter().any(|it| it.contains("counted")), "{said:?}");
    assert!(desk.scheduler.replicas[&ReplicaKey(1)].buffered.is_empty());
    assert!(desk.scheduler.is_paused(ReplicaKey(1)));
}

#[test]
fn a_half_open_replica_that_fails_again_waits_longer() {
    let mut desk = Desk::new(&[1]);
    desk.enqueue(1, 1..=20);
    let mut pauses = 0;
    let mut last_ms = 0;
    while pauses < 10 {
        while !desk.scheduler.is_paused(ReplicaKey(1)) || desk.flying().len() == 1 {
            let Some(seq) = desk.flying().first().copied() else { break };
            desk.fail(seq, AttemptError::Connect("refused".into()));
        }
        desk.hear();
        let paused_at = desk.now;
        while !desk.hear().contains(&"probe 1".to_owned()) {
            desk.wait(100);
        }
        last_ms = desk.now - paused_at;
        desk.probed(true);
        desk.wait(100);
        pauses += 1;
    }
    assert!((15_000..=30_100).contains(&last_ms), "{last_ms}");
    assert!(desk.store.rows.values().all(|row| row.seen.attempts == 0), "no connection, no attempt");
    let latest = desk.store.rows.values().map(|row| row.retry_at).max().unwrap_or(0);
    assert!(latest <= desk.now + 500, "only the breaker waits, not the requests");
}

#[test]
fn a_half_open_replica_that_nobody_asks_for_is_used_again() {
    let mut desk = Desk::new(&[1]);
    desk.enqueue(1, [1]);
    desk.status(1, 401);
    desk.store.finish(1, super::store::End::Cancelled);
    desk.feed(SchedulerInput::Ended { seqs: vec![1] });
    desk.probed(false);
    assert!(desk.scheduler.is_paused(ReplicaKey(1)));
    desk.wait(600);
    desk.probed(true);
    desk.wait(1_100);
    assert!(!desk.scheduler.is_paused(ReplicaKey(1)));
    assert_eq!(desk.hear().last().map(String::as_str), Some("resume 1"));
}

#[test]
fn a_request_that_fails_alone_five_times_fails() {
    let mut desk = Desk::new(&[4]);
    desk.enqueue(1, [1]);
    for _ in 0..5 {
        desk.wait(60_000);
        if desk.flying().is_empty() {
            desk.probed(true);
            desk.wait(200);
        }
        desk.status(1, 500);
    }
    let words = "given up after 5 attempts; the last time, the engine answered with status 500";
    assert!(desk.hear().contains(&format!("fail 1 engine_unavailable: {words}")));
}
