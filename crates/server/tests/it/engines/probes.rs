//! Probes, and keys of engines.

use std::sync::Arc;

use overnight_base::clock::{SharedClock, SystemClock};
use overnight_base::ids::Ids;
use overnight_domain::scheduler::{AttemptError, ProbeOutcome};
use overnight_engine_clients::Engines;
use overnight_testkit::engine::{Behaviour, Fault, FaultRates};

use super::{ask, at, client_of, config, impatient_client_of, simulate, simulate_with_client, start};

/// A variable that Cargo sets for every test, with its value.
const KEY_VARIABLE: (&str, &str) = ("CARGO_PKG_NAME", "overnight-server");

#[tokio::test]
async fn an_engine_lists_its_models() {
    let engine = simulate(|_| {});
    let listed = client_of(&engine).list_models().await.unwrap();
    let listed: Vec<_> = listed.iter().map(|model| (model.id.as_str(), model.context)).collect();
    assert_eq!(listed, [("theirs", Some(131_072))]);
}

#[tokio::test]
async fn an_engine_that_lists_no_models_says_what_is_wrong() {
    let (engine, client) = simulate_with_client(|tunables| tunables.api_key = Some("other".to_owned()));
    let words = client.list_models().await.unwrap_err();
    assert!(words.starts_with("GET /v1/models answers 401: "), "{words}");
    engine.stop().await;
    assert!(client.list_models().await.unwrap_err().contains("refused"));
}

#[tokio::test]
async fn a_probe_is_a_tiny_completion() {
    let engine = simulate(|_| {});
    assert_eq!(client_of(&engine).probe("ours", false).await, ProbeOutcome::Healthy);
    assert_eq!(engine.attempts_of("Hi"), 1);
    let engine = simulate(|tunables| tunables.models.clear());
    let ProbeOutcome::Failed(words) = client_of(&engine).probe("ours", false).await else {
        panic!("no such model")
    };
    assert!(words.starts_with("status 404: "), "{words}");
}

#[tokio::test]
async fn an_engine_that_answers_400_to_a_name_that_it_does_not_list_does_not_work() {
    for code in [400, 422] {
        let engine = simulate(|tunables| {
            tunables.models = vec!["another".to_owned()];
            tunables.unknown_model_status = code;
        });
        let client = client_of(&engine);
        let error = ask(&client, "hello").await.expect_err("no such model");
        assert!(matches!(error, AttemptError::UnlistedModel { code: it, .. } if it == code), "{error:?}");
        let ProbeOutcome::Failed(words) = client.probe("ours", false).await else { panic!("no such model") };
        assert!(words.starts_with(&format!("status {code}: ")), "{words}");
        assert!(words.ends_with("; it does not list the model theirs"), "{words}");
    }
}

#[tokio::test]
async fn a_probe_tells_an_engine_that_is_busy_from_one_that_does_not_work() {
    let (engine, client) = simulate_with_client(|_| {});
    let status = |code| Fault::Status { code, retry_after_s: None };
    let behaviour = |name| Behaviour::named(name).unwrap().fault;
    for (fault, expected) in [
        (status(400), "refused"),
        (status(422), "refused"),
        (behaviour("gateway-no-usage"), "healthy"),
        (status(429), "busy"),
        (status(503), "busy"),
        (status(500), "failed"),
        (status(401), "failed"),
        (Fault::ResetBeforeHeaders, "failed"),
        (behaviour("lm-studio-no-choices"), "failed"),
    ] {
        engine.tune(|tunables| tunables.faults = FaultRates::none().with(fault, 1.0));
        let outcome = client.probe("ours", false).await;
        let kind = match &outcome {
            ProbeOutcome::Healthy => "healthy",
            ProbeOutcome::Refused { .. } => "refused",
            ProbeOutcome::Busy { .. } => "busy",
            ProbeOutcome::Failed(_) | ProbeOutcome::TimedOut(_) => "failed",
        };
        assert_eq!(kind, expected, "{fault:?}: {outcome:?}");
    }
    engine.tune(|tunables| tunables.faults = FaultRates::none().with(Fault::Hang, 1.0));
    let outcome = impatient_client_of(&engine).probe("ours", false).await;
    assert_eq!(outcome, ProbeOutcome::TimedOut("no answer within 1 s".to_owned()));
}

#[tokio::test]
async fn the_key_is_read_from_its_variable_and_sent() {
    let (variable, key) = KEY_VARIABLE;
    let engine = simulate(|tunables| tunables.api_key = Some(key.to_owned()));
    let settings = format!(r#"{}, api_key_env = "{variable}""#, at(&engine.base_url()));
    let engines = start(&config(&settings));
    let clients = engines.list();
    let client = &clients[0];
    assert!(client.list_models().await.is_ok());
    ask(client, "hello").await.unwrap();
    let error = ask(&client_of(&engine), "hello").await.unwrap_err();
    assert!(matches!(error, AttemptError::Status { code: 401, .. }), "{error:?}");
}

#[tokio::test]
async fn a_key_that_is_not_there_stops_the_start() {
    let settings = format!(r#"{}, api_key_env = "NO_SUCH_VARIABLE""#, at("http://h"));
    let clock: SharedClock = Arc::new(SystemClock);
    let error = Engines::start(&config(&settings), &clock, &Arc::new(Ids::from_seed(1))).err().unwrap();
    let expected =
        "engine `e`: the environment variable NO_SUCH_VARIABLE, which should hold its key, is not set";
    assert_eq!(error.to_string(), expected);
}
