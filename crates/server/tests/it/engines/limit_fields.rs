//! Engines that accept the output limit under only one of its two names.

use std::sync::Arc;

use overnight_domain::scheduler::{AttemptError, ProbeOutcome};
use overnight_engine_clients::EngineClient;
use overnight_testkit::engine::{Fault, FaultRates, SimEngine};
use serde_json::{Value, json};

use super::{ask, at, client_of, config, send, simulate, start};

const NEW: &str = "max_completion_tokens";
const OLD: &str = "max_tokens";
const NOT_OLD: (&str, &str) = (
    OLD,
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
);
const NOT_NEW: (&str, &str) = (NEW, "body.max_completion_tokens: Extra inputs are not permitted");

fn refusing(fields: &[(&'static str, &'static str)]) -> SimEngine {
    simulate(|tunables| tunables.refused_fields = fields.to_vec())
}

fn limited(field: &str) -> Value {
    json!({"model": "ours", "messages": [{"role": "user", "content": "hello"}], field: 3})
}

fn refused(engine: &SimEngine) -> u64 {
    engine.counters().rejected
}

/// A client whose calls count against a limit.
fn counting(engine: &SimEngine) -> Arc<EngineClient> {
    let settings = format!("{}, max_requests_per_minute = 1000", at(&engine.base_url()));
    start(&config(&settings)).list().remove(0)
}

#[tokio::test]
async fn a_limit_is_sent_under_the_name_that_the_client_used() {
    for (refuses, used) in [(NOT_OLD, NEW), (NOT_NEW, OLD)] {
        let engine = refusing(&[refuses]);
        let completion = send(&client_of(&engine), &limited(used)).await.unwrap();
        assert_eq!((completion.usage.completion_tokens, refused(&engine)), (3, 0));
    }
}

#[tokio::test]
async fn an_engine_that_refuses_a_name_is_sent_the_other_from_then_on() {
    for (refuses, used) in [(NOT_OLD, OLD), (NOT_NEW, NEW)] {
        let engine = refusing(&[refuses]);
        let client = client_of(&engine);
        for _ in 0..3 {
            let completion = send(&client, &limited(used)).await.unwrap();
            assert_eq!((completion.usage.completion_tokens, refused(&engine)), (3, 1), "{used}");
        }
        ask(&client, "without a limit of its own").await.unwrap();
        assert_eq!(refused(&engine), 1);
    }
}

#[tokio::test]
async fn an_engine_that_exceeds_a_limit_is_sent_its_older_name() {
    let engine = refusing(&[]);
    let client = client_of(&engine);
    engine.tune(|tunables| tunables.faults = FaultRates::none().with(Fault::UsageInflated, 1.0));
    send(&client, &limited(NEW)).await.unwrap();
    engine.tune(|tunables| {
        tunables.faults = FaultRates::none();
        tunables.refused_fields = vec![NOT_NEW];
    });
    send(&client, &limited(NEW)).await.unwrap();
    assert_eq!(refused(&engine), 0);
}

#[tokio::test]
async fn a_name_that_is_refused_later_is_learnt_anew() {
    let engine = refusing(&[NOT_OLD]);
    let client = client_of(&engine);
    ask(&client, "hello").await.unwrap();
    engine.tune(|tunables| tunables.refused_fields = vec![NOT_NEW]);
    ask(&client, "hello").await.unwrap();
    assert_eq!(refused(&engine), 2);
}

#[tokio::test]
async fn an_engine_that_refuses_both_names_refuses_the_request_with_its_first_message() {
    let engine = refusing(&[NOT_OLD, NOT_NEW]);
    let error = send(&client_of(&engine), &limited(OLD)).await.unwrap_err();
    let is_so = matches!(&error, AttemptError::Status { code: 400, message, .. } if message == NOT_OLD.1);
    assert!(is_so, "{error:?}");
    assert_eq!(refused(&engine), 2);
}

#[tokio::test]
async fn another_refusal_is_not_repeated() {
    let engine = refusing(&[(OLD, "max_tokens must be at least 16, got 3.")]);
    send(&client_of(&engine), &limited(OLD)).await.unwrap_err();
    assert_eq!(refused(&engine), 1);
}

#[tokio::test]
async fn where_calls_are_counted_each_call_is_asked_for() {
    let engine = refusing(&[NOT_OLD]);
    let client = counting(&engine);
    assert_eq!(send(&client, &limited(OLD)).await, Err(AttemptError::LimitRefused));
    assert_eq!(refused(&engine), 1);
    send(&client, &limited(OLD)).await.unwrap();
    let engine = refusing(&[NOT_OLD, NOT_NEW]);
    let client = counting(&engine);
    assert_eq!(send(&client, &limited(OLD)).await, Err(AttemptError::LimitRefused));
    let error = send(&client, &limited(OLD)).await.unwrap_err();
    assert!(matches!(error, AttemptError::Status { code: 400, .. }), "{error:?}");
    assert_eq!(refused(&engine), 2);
}

#[tokio::test]
async fn a_probe_that_is_refused_for_its_limit_is_sent_with_the_other_name_or_without_one() {
    for (fields, refusals) in [
        (vec![NOT_OLD], 1),
        (vec![(OLD, "max_tokens must be at least 16, got 1.")], 1),
        (vec![NOT_OLD, NOT_NEW], 2),
    ] {
        let engine = refusing(&fields);
        assert_eq!(client_of(&engine).probe("ours", true).await, ProbeOutcome::Healthy, "{fields:?}");
        assert_eq!(refused(&engine), refusals, "{fields:?}");
    }
    let engine = refusing(&[("messages", "there is no field messages")]);
    let outcome = client_of(&engine).probe("ours", true).await;
    assert!(matches!(outcome, ProbeOutcome::Refused { code: 400, .. }), "{outcome:?}");
}
