//! A refusal holds back the request, its account or the replica, depending on other refusals and completions.

use super::super::*;
use super::desk::Desk;

fn refused(retry_after_ms: i64) -> AttemptError {
    let retry_after_ms = Some(retry_after_ms).filter(|ms| *ms > 0);
    AttemptError::Status { code: 429, message: "full".into(), retry_after_ms }
}

fn rejected(message: &str) -> AttemptError {
    AttemptError::Status { code: 400, message: message.into(), retry_after_ms: None }
}

fn busy(retry_after_ms: Option<i64>) -> ProbeOutcome {
    ProbeOutcome::Busy { retry_after_ms, message: "full".into() }
}

fn busy_until(desk: &Desk) -> Option<i64> {
    desk.scheduler.busy(ReplicaKey(1), super::MODEL, desk.now).map(|(until, _)| until)
}

#[test]
fn one_refused_request_waits_by_itself() {
    let mut desk = Desk::heard(&[2], 1..=4);
    desk.fail(1, refused(3_000));
    assert_eq!(desk.hear(), ["release lease 1", "send 3 to 1"], "one at a time beside what runs");
    assert!(desk.store.row(1).is_some_and(|row| row.retry_at >= desk.now + 3_000 && row.seen.attempts == 0));
    desk.complete(2);
    desk.complete(3);
    assert_eq!((desk.hear(), busy_until(&desk)), (vec!["send 4 to 1".to_owned()], None));
    desk.wait(2_900);
    assert_eq!(desk.hear(), [""; 0], "the engine named a time");
    desk.wait(300);
    assert_eq!(desk.hear(), ["send 1 to 1"]);
}

#[test]
fn an_account_whose_requests_are_all_refused_waits_and_others_do_not() {
    let mut desk = Desk::of(&[4], 1..=20);
    desk.fail(1, refused(3_000));
    assert_eq!(desk.flying().len(), 4, "one at a time beside what runs");
    desk.fail(2, refused(3_000));
    assert_eq!(desk.flying().len(), 3, "nothing is sent after the second refusal");
    assert_eq!(busy_until(&desk), Some(desk.now + 3_000));
    desk.enqueue(2, 101..=102);
    assert_eq!(desk.flying().len(), 4, "another account is not held back");
    desk.complete(101);
    assert_eq!((busy_until(&desk), desk.flying().len()), (None, 4));
    desk.flying().into_iter().filter(|seq| *seq < 100).for_each(|seq| desk.fail(seq, refused(3_000)));
    desk.complete(102);
    assert_eq!(desk.flying(), [0; 0]);
    desk.wait(2_900);
    assert_eq!(desk.flying(), [0; 0]);
    desk.wait(200);
    assert_eq!(desk.flying().len(), 1, "one at a time");
    desk.complete(desk.flying()[0]);
    assert_eq!(desk.flying().len(), 2, "completions widen the window");
    desk.complete(desk.flying()[0]);
    desk.complete(desk.flying()[0]);
    assert_eq!(desk.flying().len(), 3, "and wider");
}

#[test]
fn a_replica_rests_while_several_accounts_are_refused_until_a_request_completes() {
    let mut desk = Desk::of(&[4], 1..=10);
    desk.enqueue(2, 11..=20);
    while desk.flying().iter().filter(|seq| **seq > 10).count() == 0 {
        desk.complete(desk.flying()[0]);
    }
    let flying = desk.flying();
    let [first, other] = [flying[0], *flying.last().unwrap()];
    desk.fail(first, refused(5_000));
    desk.hear();
    desk.fail(other, refused(5_000));
    assert_eq!(busy_until(&desk), Some(desk.now + 5_000));
    desk.enqueue(3, 21..=22);
    assert_eq!(desk.hear(), [format!("release lease {other}")], "nothing is sent to anybody");
    desk.complete(flying[1]);
    assert!(desk.hear().contains(&"send 21 to 1".to_owned()), "the first completion ends the rest");
    assert_eq!(busy_until(&desk), None);
}

#[test]
fn a_request_that_is_refused_again_and_again_waits_longer_each_time() {
    let mut desk = Desk::of(&[2], [1]);
    let mut last_at = desk.now;
    let mut waits = Vec::new();
    for _ in 0..12 {
        desk.fail(1, refused(0));
        while desk.flying().is_empty() {
            desk.wait(100);
        }
        waits.push(desk.now - last_at);
        last_at = desk.now;
    }
    assert!(waits[0] <= 500, "{waits:?}");
    assert!((30_000..=62_000).contains(&waits[11]), "{waits:?}");
    assert!(desk.store.row(1).is_some_and(|row| row.seen.attempts == 0), "no attempt counts");
}

#[test]
fn a_request_that_is_refused_until_its_window_ends_fails_with_the_engines_message() {
    let mut desk = Desk::new(&[1]);
    let due = desk.now + 300_000;
    desk.enqueue_due(1, [(1, due)]);
    let failed = loop {
        if !desk.flying().is_empty() {
            desk.fail(1, refused(0));
        }
        if let Some(failed) = desk.hear().into_iter().find(|it| it.starts_with("fail")) {
            break failed;
        }
        desk.wait(100);
        assert!(desk.now < due, "it would only expire");
    };
    assert!(failed.contains("the engine answered with status 429: full"), "{failed}");
    assert!(desk.now > due - 120_000);
}

#[test]
fn a_request_that_an_engine_refuses_until_after_its_window_fails_no_earlier() {
    let mut desk = Desk::new(&[1]);
    desk.enqueue_due(1, [(1, desk.now + 300_000)]);
    desk.hear();
    desk.fail(1, refused(3_600_000));
    assert_eq!(desk.hear(), ["release lease 1"]);
}

#[test]
fn a_refusal_that_depends_on_chance_is_tried_again_and_fails_at_the_eighth_time() {
    let mut desk = Desk::of(&[1], [1]);
    for attempt in 1..=8 {
        desk.fail(1, rejected("Already borrowed"));
        desk.probed_healthy();
        assert_eq!(desk.hear().iter().any(|it| it.starts_with("fail")), attempt == 8, "{attempt}");
        while attempt < 8 && desk.flying().is_empty() {
            desk.wait(1_000);
        }
    }
}

#[test]
fn a_request_that_one_engine_refuses_for_hours_is_tried_at_another_within_a_minute() {
    let mut desk = Desk::of(&[1, 1], 1..=2);
    let to_first = desk.said.iter().find(|it| it.ends_with("to 1")).cloned().unwrap();
    let seq = if to_first.starts_with("send 1 ") { 1 } else { 2 };
    desk.fail(seq, refused(3_600_000));
    assert!(desk.store.row(seq).is_some_and(|row| row.retry_at <= desk.now + 60_000));
}

#[test]
fn a_long_time_that_the_probe_is_told_too_pauses_the_replica_until_then() {
    let mut desk = Desk::of(&[2], 1..=4);
    desk.fail(1, refused(3_600_000));
    desk.hear();
    desk.fail(2, refused(3_600_000));
    assert_eq!(desk.hear(), ["release lease 2", "probe 1"]);
    desk.probed(busy(Some(7_200_000)));
    assert!(desk.hear().contains(&"pause 1: the engine is busy: full".to_owned()));
    assert_eq!(desk.scheduler.paused_until(ReplicaKey(1)), Some(desk.now + 7_200_000));
    desk.wait(60_000);
    assert_eq!(desk.hear(), [""; 0], "no probe before that time");
    desk.complete(3);
    assert!(desk.hear().contains(&"resume 1".to_owned()), "the first completion ends the rest");
}

#[test]
fn a_long_time_that_only_requests_are_told_holds_back_their_account() {
    let mut desk = Desk::of(&[2], 1..=4);
    desk.fail(1, refused(3_600_000));
    desk.fail(2, refused(3_600_000));
    desk.probed_healthy();
    desk.hear();
    assert!(!desk.scheduler.is_paused(ReplicaKey(1)));
    desk.enqueue(2, [11]);
    assert_eq!(desk.hear(), ["send 11 to 1"]);
    desk.complete(3);
    desk.wait(3_500_000);
    assert!(desk.store.row(1).is_some_and(|row| row.retry_at > desk.now), "the refused request still waits");
}

#[test]
fn a_refusal_of_every_request_pauses_the_replica_and_fails_none() {
    let mut desk = Desk::heard(&[2], 1..=4);
    desk.fail(1, rejected("usage limit reached, request r1"));
    assert_eq!(desk.hear(), [""; 0], "what is under way may tell");
    desk.fail(2, rejected("usage limit reached, request r2"));
    assert_eq!(desk.hear(), ["probe 1"], "nothing is under way any more");
    desk.probed(ProbeOutcome::Refused { code: 400, message: "usage limit reached, request r3".into() });
    let pause = "pause 1: the engine refuses every request with status 400: usage limit reached, request r3";
    assert_eq!(desk.hear(), ["release lease 1", "release lease 2", pause]);
    desk.wait(600);
    assert_eq!(desk.hear(), ["probe 1"]);
    desk.probed_healthy();
    assert_eq!(desk.hear()[0], "resume 1");
    desk.wait(200);
    assert_eq!(desk.flying().len(), 2);
}

#[test]
fn a_request_at_fault_fails_if_the_probe_is_refused_for_another_reason() {
    for outcome in [
        ProbeOutcome::Healthy,
        ProbeOutcome::Refused { code: 400, message: "max_tokens is not supported".into() },
        ProbeOutcome::Refused { code: 422, message: "unknown field".into() },
    ] {
        let mut desk = Desk::heard(&[1], 1..=2);
        desk.fail(1, rejected("unknown field"));
        desk.probed(outcome);
        assert_eq!(desk.hear()[..2], ["probe 1", "fail 1 engine_rejected: unknown field"]);
        assert!(!desk.scheduler.is_paused(ReplicaKey(1)));
    }
}

#[test]
fn a_completion_tells_of_a_refusal_only_if_it_was_sent_after_it() {
    let mut desk = Desk::heard(&[3], 1..=6);
    desk.fail(1, rejected("unknown field"));
    desk.complete(2);
    assert_eq!(desk.hear(), ["send 4 to 1"], "request 2 was under way before");
    desk.complete(4);
    assert_eq!(desk.hear()[0], "fail 1 engine_rejected: unknown field", "without a probe");
}

#[test]
fn an_engine_that_refuses_every_probe_and_completes_requests_is_paused_once() {
    let mut desk = Desk::new(&[1]);
    let probe = || ProbeOutcome::Refused { code: 400, message: "bad request".into() };
    desk.enqueue(1, 1..=3);
    desk.fail(1, rejected("bad request"));
    desk.hear();
    let mut probes = 0;
    while desk.flying().is_empty() {
        desk.probed(probe());
        probes += 1;
        while desk.flying().is_empty() && desk.hear().iter().all(|it| it != "probe 1") {
            desk.wait(100);
        }
    }
    assert_eq!(probes, 6, "then a real request is sent");
    desk.complete(desk.flying()[0]);
    desk.fail(desk.flying()[0], rejected("bad request"));
    desk.hear();
    desk.probed(probe());
    assert!(!desk.scheduler.is_paused(ReplicaKey(1)), "the probe alone was at fault");
}
