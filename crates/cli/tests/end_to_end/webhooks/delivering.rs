//! Deliveries of webhooks: content, retries and records.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{QUICK, Stage, json_of, told, verified};
use crate::support::{Ran, pause, wait_until};

#[test]
fn every_end_is_told_once_signed_and_without_a_word_of_what_was_said() {
    let stage = Stage::with(QUICK);
    let hook = stage.receiver.url("/ok?secret=1");
    let failing = told("[[sim:status=400]] a private prompt", &hook);
    let batch = stage.submit(Some(&hook), &[told("a private prompt", &hook), failing]);
    stage.wait_for(3);
    stage.world.engine.tune(|tunables| tunables.base_latency_ms = 60_000);
    let cancelled = stage.submit(Some(&hook), &[told("a private prompt of which nothing comes", &hook)]);
    stage.world.json(&format!("cancel {cancelled}"));
    let received = stage.wait_for(5);
    let secret = stage.secret();
    let mut told_of = BTreeMap::new();
    for call in &received {
        assert!(verified(&secret, call), "{call:?}");
        let text = std::str::from_utf8(&call.body).unwrap();
        assert!(!text.contains("private") && !text.contains("prompt") && !text.contains("secret"), "{text}");
        assert_eq!((call.method.as_str(), call.path.as_str()), ("POST", "/ok?secret=1"));
        assert_eq!(call.header("content-type"), "application/json");
        assert!(call.header("user-agent").starts_with("overnight/"), "{call:?}");
        assert!(call.id().starts_with("evt_"), "{call:?}");
        let event = json_of(call);
        let members: BTreeSet<&str> = event.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(members, BTreeSet::from(["created_at", "data", "id", "timestamp", "type"]));
        assert_eq!((event["id"].as_str(), &event["created_at"]), (Some(call.id()), &event["timestamp"]));
        assert!(event["timestamp"].as_i64().unwrap() * 1_000 <= call.at + 1_000);
        told_of.insert(event["type"].as_str().unwrap().to_owned(), event["data"].clone());
    }
    let kinds: Vec<&str> = told_of.keys().map(String::as_str).collect();
    let all =
        ["batch.cancelled", "batch.completed", "request.cancelled", "request.completed", "request.failed"];
    assert_eq!(kinds, all);
    let status = |id: &str| stage.world.json(&format!("status {id}"));
    assert_eq!(told_of["batch.completed"], status(&batch));
    assert_eq!(told_of["batch.cancelled"], status(&cancelled));
    for kind in ["request.completed", "request.failed", "request.cancelled"] {
        assert_eq!(told_of[kind], status(told_of[kind]["id"].as_str().unwrap()), "{kind}");
    }
    assert_eq!(stage.wait_for_ends(5)["delivered"], 5);
    assert_eq!(stage.receiver.count(), 5, "each is told once");
    stage.audit();
}

#[test]
fn what_fails_is_tried_again_with_the_same_bytes_until_it_is_taken_or_given_up() {
    let stage = Stage::with(QUICK);
    let hooks =
        ["/flaky/2", "/status/410", "/status/503", "/redirect?to=/ok"].map(|path| stage.receiver.url(path));
    let bodies: Vec<Value> = hooks.iter().map(|hook| told("something", hook)).collect();
    stage.submit(None, &bodies);
    let states = stage.wait_for_ends(4);
    assert_eq!((states["delivered"], states["exhausted"]), (1, 3));
    let secret = stage.secret();
    let mut by_path: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for call in stage.receiver.received() {
        assert!(verified(&secret, &call));
        by_path.entry(call.path.clone()).or_default().push(call);
    }
    let tries: BTreeMap<&str, usize> =
        by_path.iter().map(|(path, calls)| (path.as_str(), calls.len())).collect();
    let wanted = [("/flaky/2", 3), ("/redirect?to=/ok", 4), ("/status/410", 1), ("/status/503", 4)];
    assert_eq!(tries, wanted.into(), "redirects are not followed, and a 410 asks for no more");
    for calls in by_path.values() {
        let same: BTreeSet<_> = calls.iter().map(|call| (call.id(), &call.body)).collect();
        assert_eq!(same.len(), 1, "{calls:?}");
        let delays: Vec<i64> = calls.windows(2).map(|pair| pair[1].at - pair[0].at).collect();
        assert!(delays.iter().zip([180, 360, 540]).all(|(delay, least)| *delay >= least), "{delays:?}");
    }
    let event = by_path["/flaky/2"][0].id().to_owned();
    let deliveries = stage.of_account(&format!("webhook deliveries --event {event}"));
    let outcomes: Vec<_> =
        deliveries.as_array().unwrap().iter().map(|it| (&it["try"], &it["status"])).collect();
    assert_eq!(outcomes, [(&3.into(), &204.into()), (&2.into(), &500.into()), (&1.into(), &500.into())]);
    let ids: BTreeSet<_> =
        deliveries.as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap()).collect();
    assert!(ids.len() == 3 && ids.iter().all(|id| id.starts_with("whd_")), "{ids:?}");
    stage.audit();
}

#[test]
fn an_event_can_be_told_again_and_a_secret_replaced() {
    let stage = Stage::with(QUICK);
    let hooks = ["/ok", "/status/503"].map(|path| stage.receiver.url(path));
    stage.submit(None, &hooks.each_ref().map(|hook| told("something", hook)));
    stage.wait_for_ends(2);
    let before = stage.receiver.received();
    let (old, first) = (stage.secret(), before.iter().find(|call| call.path == "/ok").unwrap());
    let rotated = stage.of_account("webhook rotate");
    let new = rotated["secret"].as_str().unwrap();
    assert!(new.starts_with("whsec_") && new != old && rotated["previous"][0]["secret"] == old.as_str());
    assert_eq!(stage.world.json(&format!("webhook replay {}", first.id()))["state"], "waiting");
    let calls = stage.wait_for(before.len() + 1);
    let again = calls.last().unwrap();
    assert_eq!((again.id(), &again.body), (first.id(), &first.body));
    assert!(verified(&old, again) && verified(new, again), "both secrets are signed with");
    stage.of_account("webhook rotate --overlap 0s");
    let newest = stage.secret();
    assert_eq!(stage.of_account("webhook replay --exhausted")["replayed"], 1);
    let calls = stage.wait_for(before.len() + 2);
    assert!(verified(&newest, calls.last().unwrap()) && !verified(&old, calls.last().unwrap()));
    stage.wait_for_ends(2);
    let table = stage.world.run(&format!("webhook events --account {}", stage.account()));
    assert!(table.stdout.contains("exhausted") && table.stdout.contains(first.id()), "{table:?}");
    let unknown = stage.world.run("webhook replay evt_01jz8m4c2he7vsn9q3r5x1b8kb");
    assert!(unknown.code == 3 && unknown.stderr.contains("no such event"), "{unknown:?}");
    for wrong in [
        "webhook replay evt_1",
        "webhook replay",
        "webhook rotate --account acct_1",
        "webhook replay --exhausted",
    ] {
        assert_eq!(stage.world.run(wrong).code, 2, "{wrong}");
    }
    let long = stage.world.run(&format!("webhook rotate --overlap 31d --account {}", stage.account()));
    assert!(long.code == 2 && long.stderr.contains("at most 30 days"), "{long:?}");
    stage.audit();
}

#[test]
fn a_test_is_sent_once_signed_as_any_event_and_a_replay_has_the_whole_schedule() {
    let stage = Stage::with(QUICK);
    let account = stage.account();
    let test = |url: &str| stage.world.json(&format!("webhook test --account {account} {url}"));
    let sent = test(&stage.receiver.url("/ok"));
    assert_eq!((&sent["type"], &sent["subject"]), (&"webhook.test".into(), &Value::Null));
    let call = stage.wait_for(1).remove(0);
    assert_eq!(call.id(), sent["id"].as_str().unwrap());
    assert!(verified(&stage.secret(), &call));
    let event = json_of(&call);
    assert_eq!(
        (&event["type"], &event["data"]["account"]),
        (&"webhook.test".into(), &account.clone().into())
    );
    assert_eq!(stage.wait_for_ends(1)["delivered"], 1);

    let failing = test(&stage.receiver.url("/status/503"));
    assert_eq!(stage.wait_for_ends(2)["exhausted"], 1);
    assert_eq!(stage.receiver.count(), 2, "it is tried once");
    assert_eq!(stage.of_account("webhook replay --exhausted")["replayed"], 0);
    assert!(stage.world.run("doctor").stdout.contains("none was given up within a day"));
    stage.world.json(&format!("webhook replay {}", failing["id"].as_str().unwrap()));
    stage.wait_for(6);
    assert_eq!(stage.wait_for_ends(2)["exhausted"], 1);

    test(&stage.receiver.url("/hang"));
    stage.wait_for(7);
    let second = stage.world.run(&format!("webhook test {}", stage.receiver.url("/ok")));
    assert!(second.code != 0 && second.stderr.contains("another test of this account"), "{second:?}");
    stage.receiver.let_go();
    stage.wait_for_ends(3);
    for (wrong, why) in [
        ("webhook test --account acct_01jz8m2r0te8x9f3k6p1w4c7hd https://example.com", "no such account"),
        ("webhook test ftp://example.com", "must be an https or http URL"),
        ("webhook test", "URL"),
    ] {
        let refused = stage.world.run(wrong);
        assert!(refused.code != 0 && refused.stderr.contains(why), "{refused:?}");
    }
    stage.audit();
}

#[test]
fn what_is_not_delivered_when_the_service_stops_is_delivered_after_the_next_start() {
    let mut stage = Stage::with(QUICK);
    let hook = stage.receiver.url("/hang");
    stage.submit(None, &[told("something", &hook), told("something else", &stage.receiver.url("/flaky/1"))]);
    stage.wait_for(2);
    stage.serving.take().unwrap().kill();
    stage.audit();
    stage.receiver.let_go();
    stage.serving = Some(stage.world.serve());
    assert_eq!(stage.wait_for_ends(2)["delivered"], 2);
    let deliveries = stage.of_account("webhook deliveries");
    let interrupted = deliveries.as_array().unwrap().iter().filter(|it| it["failure"] == "interrupted");
    assert!(interrupted.count() >= 1, "{deliveries}");
    stage.audit();
}

#[test]
fn a_service_that_is_asked_to_stop_tells_what_has_ended_first() {
    let mut stage = Stage::with(QUICK);
    stage.submit(None, &[told("something", &stage.receiver.url("/ok"))]);
    wait_until("the request ends", || stage.world.json("list requests")[0]["status"] == "completed");
    let serving = stage.serving.take().unwrap();
    serving.signal("TERM");
    assert_eq!(serving.end().code, 0);
    assert_eq!(stage.receiver.count(), 1);
    assert_eq!(stage.wait_for_ends(1)["delivered"], 1);
}

#[test]
fn operators_are_told_what_is_tried_again_and_again() {
    let stage = Stage::with("[webhooks]\nallow_insecure_targets = true\nretries = [\"1h\"]\n");
    assert!(!stage.world.run("doctor").stdout.contains("in vain"));
    stage.submit(None, &[told("something", &stage.receiver.url("/status/503"))]);
    wait_until("the doctor tells it", || {
        stage
            .world
            .run("doctor")
            .stdout
            .contains("webhooks: 1 were tried in vain and are tried again, the oldest of 20")
    });
}

#[test]
fn a_body_without_end_holds_its_place_and_no_other() {
    let stage = Stage::with(QUICK);
    let hook = stage.receiver.url("/drip");
    let bodies: Vec<Value> = (0..20).map(|number| told(&format!("{number}"), &hook)).collect();
    stage.submit(None, &bodies);
    stage.wait_for(8);
    wait_until("everything ends", || {
        stage.world.json("list requests --status completed").as_array().unwrap().len() == 20
    });
    (0..50).for_each(|_| pause());
    assert_eq!(stage.receiver.count(), 8, "tries of one account to one host at a time");
}

#[test]
fn operators_are_told_what_fails_without_asking_account_by_account() {
    let stage = Stage::with(QUICK);
    let before = stage.world.run("doctor").stdout;
    assert!(before.contains("webhooks: none was given up within a day"), "{before}");
    assert!(before.contains("lead to any address"), "{before}");
    stage.submit(None, &[told("something", &stage.receiver.url("/status/410"))]);
    stage.wait_for_ends(1);
    assert!(stage.world.run("doctor").stdout.contains("webhooks: 1 were given up within a day"));
    stage.world.json("account create --name second");
    let events = stage.world.json("webhook events --state exhausted");
    let event = events[0]["id"].as_str().unwrap();
    let deliveries = stage.world.json(&format!("webhook deliveries --event {event}"));
    assert_eq!(deliveries[0]["url"], stage.receiver.url("/status/410"));
    assert_eq!(deliveries[0]["subject"], events[0]["subject"]);
    assert_eq!(stage.world.json("webhook events --state pending"), Value::Array(Vec::new()));
    let own = stage.world.run("webhook secret").stdout;
    assert!(own.starts_with("whsec_"), "{own}");
    let whose = stage.world.command("webhook secret").env("OVERNIGHT_API_KEY", "on_live_unknown").output();
    let whose = Ran::from(whose.unwrap());
    assert!(whose.code == 2 && whose.stderr.contains("there are 2 accounts"), "{whose:?}");
    let unknown = stage.world.run("webhook deliveries --event evt_01jz8m4c2he7vsn9q3r5x1b8kb");
    assert!(unknown.code == 3 && unknown.stderr.contains("no such event"), "{unknown:?}");
}

#[test]
fn low_credits_are_told_of_once_signed_as_any_event() {
    let stage = Stage::with(QUICK);
    let account = stage.account();
    let hook = stage.receiver.url("/ok?of=credits");
    for wrong in [
        "10",
        "none --webhook https://example.com/",
        "0 --webhook https://example.com/",
        "1 --webhook nowhere",
    ] {
        assert_eq!(stage.world.run(&format!("account low-credits {account} {wrong}")).code, 2, "{wrong}");
    }
    let set = stage.world.json(&format!("account low-credits {account} 1000000.5 --webhook {hook}"));
    assert_eq!(set["low_credits"], json!({"threshold": "1000000.5", "webhook": hook}));
    let shown = stage.world.run(&format!("account show {account}")).stdout;
    assert!(shown.contains(&format!("below 1000000.5, told at {hook}")), "{shown}");
    let call = stage.wait_for(1).remove(0);
    assert!(verified(&stage.secret(), &call));
    let event = json_of(&call);
    let data = &event["data"];
    assert_eq!((&event["type"], &data["account"]), (&"account.low_credits".into(), &account.clone().into()));
    assert_eq!(data["threshold"], "1000000.5");
    let account_now = stage.world.json(&format!("account show {account}"));
    for amount in ["balance", "held", "available"] {
        assert_eq!(data[amount], account_now[amount], "{data}");
    }

    assert_eq!(stage.wait_for_ends(1)["delivered"], 1);
    assert_eq!(stage.world.json(&format!("account low-credits {account} none"))["low_credits"], Value::Null);
    let log = stage.world.run("audit-log --json").stdout;
    assert_eq!(log.matches("credits.low").count(), 2, "{log}");
    stage.audit();
}
