//! Webhooks received during development, signed by another implementation.

mod forwarding;
mod refusals;
mod support;

use serde_json::{Value, json};

use crate::support::wait_until;
use support::{BODY, ID, Listening, OTHER_SECRET, SECRET, headers, now, sign};

#[test]
fn an_event_is_answered_and_printed_until_it_is_stopped() {
    for signal in ["TERM", "INT"] {
        let listening = Listening::start(&[]);
        assert!(listening.note("allow_insecure_targets").contains("ALLOW_INSECURE_TARGETS=true"));
        assert_eq!(listening.tell(ID, BODY), 200);
        let line = listening.line();
        let (time, rest) = line.split_at(9);
        assert!(time.ends_with('Z') && time.matches(':').count() == 2, "{line}");
        let expected =
            format!("  batch.completed    batch_01jz8m4c2he7vsn9q3r5x1b8ka  {ID}  2 completed, 1 failed");
        assert_eq!(rest, expected);
        listening.signal(signal);
        assert_eq!(listening.end(), (0, Vec::new()));
    }
}

#[test]
fn for_machines_an_event_is_one_object_on_one_line() {
    let listening = Listening::start(&["--json"]);
    assert_eq!(listening.tell(ID, &BODY.replace(",\"data\"", "\n,\n\"data\"")), 200);
    let told: Value = serde_json::from_str(&listening.line()).unwrap();
    let sent: Value = serde_json::from_str(BODY).unwrap();
    let expected = json!({
        "id": ID, "type": "batch.completed", "timestamp": 1_751_500_020, "data": sent["data"],
        "verified": true, "again": false, "forwarded": null, "answered": 200
    });
    assert_eq!(told, expected);
}

#[test]
fn what_comes_again_is_answered_alike_and_marked() {
    let listening = Listening::start(&["--json"]);
    for (id, again) in [(ID, false), ("evt_2", false), (ID, true), ("evt_2", true)] {
        assert_eq!(listening.tell(id, BODY), 200);
        let told: Value = serde_json::from_str(&listening.line()).unwrap();
        assert_eq!((&told["id"], &told["again"]), (&json!(id), &json!(again)));
    }
    let listening = Listening::start(&[]);
    for expected in ["1 failed", "1 failed  again"] {
        listening.tell(ID, BODY);
        assert!(listening.line().ends_with(expected));
    }
}

#[test]
fn while_the_secret_is_changed_both_are_believed() {
    let both = format!("{SECRET},{OTHER_SECRET}");
    let by_environment = Listening::start_with(&both, &[]);
    let by_flags = Listening::start_with("", &["--secret", SECRET, "--secret", OTHER_SECRET]);
    let by_one = Listening::start(&[]);
    let now = now();
    let [old, new] = [SECRET, OTHER_SECRET].map(|secret| sign(secret, ID, now, BODY));
    for (listening, signature, expected) in [
        (&by_environment, &old, 200),
        (&by_environment, &new, 200),
        (&by_flags, &old, 200),
        (&by_flags, &new, 200),
        (&by_one, &format!("{new} {old}"), 200),
        (&by_one, &new, 401),
    ] {
        assert_eq!(listening.post(&headers(ID, now, signature), BODY), expected);
    }
}

#[test]
fn it_ends_when_nobody_reads_any_more() {
    let mut listening = Listening::start(&[]);
    listening.stop_reading();
    wait_until("it ends", || {
        listening.tell_if_there(ID, BODY);
        listening.has_ended()
    });
    assert_eq!(listening.end().0, 0);
}
