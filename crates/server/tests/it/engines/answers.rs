//! Every possible answer of an engine.

use std::sync::Arc;

use overnight_domain::scheduler::AttemptError;
use overnight_engine_clients::EngineClient;
use overnight_testkit::engine::echo_of;

use super::{ask, client_of, impatient_client_of, simulate, simulate_with_client};

/// The outcome of an attempt, in the words of the tables.
pub(super) fn told(error: &AttemptError) -> String {
    match error {
        AttemptError::Connect(_) => "connect".to_owned(),
        AttemptError::Reset(_) => "reset".to_owned(),
        AttemptError::TimedOut(_) => "timed out".to_owned(),
        AttemptError::LimitRefused => "limit refused".to_owned(),
        AttemptError::TooSlow(_) => "too slow".to_owned(),
        AttemptError::Status { code, retry_after_ms, .. } => format!("status {code} {retry_after_ms:?}"),
        AttemptError::UnlistedModel { code, .. } => format!("unlisted model {code}"),
        AttemptError::NotACompletion(_) => "not a completion".to_owned(),
        AttemptError::NotServed(status, _) => format!("not served {status:?}"),
        AttemptError::TooLong(_) => "too long".to_owned(),
        AttemptError::BadUsage(_) => "bad usage".to_owned(),
        AttemptError::NoUsage(_) => "no usage".to_owned(),
        AttemptError::Aborted(message) => format!("aborted: {message}"),
    }
}

async fn check(client: &Arc<EngineClient>, faults: &[(&str, &str)]) {
    for (fault, expected) in faults {
        let error = ask(client, &format!("[[sim:{fault}]]")).await.expect_err(fault);
        assert_eq!(told(&error), *expected, "{fault}: {error:?}");
    }
}

#[tokio::test]
async fn a_completion_is_the_engines_with_our_name_of_the_model() {
    let engine = simulate(|_| {});
    let completion = ask(&client_of(&engine), "hello").await.unwrap();
    let body: serde_json::Value = serde_json::from_str(completion.body.as_str()).unwrap();
    assert_eq!((&body["model"], &body["object"]), (&"ours".into(), &"chat.completion".into()));
    assert!(body["choices"][0]["message"]["content"].as_str().unwrap().starts_with(&echo_of("hello")));
    assert_eq!(body["usage"]["completion_tokens"], completion.usage.completion_tokens);
}

#[tokio::test]
async fn an_answer_that_is_only_odd_is_taken() {
    let (_engine, client) = simulate_with_client(|_| {});
    for fault in ["delay=20", "drip=1", "pretty", "usage_inflated", "lie"] {
        let completion = ask(&client, &format!("[[sim:{fault}]]")).await;
        let completion = completion.unwrap_or_else(|error| panic!("{fault}: {error:?}"));
        assert!(!completion.body.as_str().contains('\n'), "{fault}");
    }
}

#[tokio::test]
async fn an_attempt_that_fails_is_told_by_how_it_failed() {
    let faults = [
        ("status=302", "status 302 None"),
        ("status=400", "status 400 None"),
        ("status=404", "status 404 None"),
        ("status=429/7", "status 429 Some(7000)"),
        ("status=500", "status 500 None"),
        ("status=503/0", "status 503 Some(0)"),
        ("reset", "reset"),
        ("reset_after_headers", "reset"),
        ("truncated", "reset"),
        ("bad_json", "not a completion"),
        ("huge", "too long"),
    ];
    check(&client_of(&simulate(|_| {})), &faults).await;
}

#[tokio::test]
async fn an_answer_that_does_not_end_is_timed_out() {
    let engine = simulate(|_| {});
    let faults = [("hang", "timed out"), ("hang_mid_body", "timed out")];
    check(&impatient_client_of(&engine), &faults).await;
}

#[tokio::test]
async fn the_engines_words_are_passed_on() {
    let engine = simulate(|tunables| tunables.models = vec!["other".to_owned()]);
    let Err(AttemptError::Status { code: 404, message, .. }) = ask(&client_of(&engine), "hello").await else {
        panic!("not refused");
    };
    assert!(message.contains("theirs"), "{message}");
}
