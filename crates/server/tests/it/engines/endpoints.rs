//! Endpoints beside chat completions, and engines without them.

use std::sync::Arc;

use overnight_domain::answers::Completion;
use overnight_domain::chat::CacheSalt;
use overnight_domain::endpoints::Endpoint;
use overnight_domain::json::minimize;
use overnight_domain::scheduler::{AccountKey, AttemptError, ProbeOutcome};
use overnight_engine_clients::{Asked, EngineClient};
use overnight_testkit::engine::{SimEngine, echo_of};
use serde_json::{Value, json};

use super::{ask, asked, client_of, simulate, simulate_with_client};

/// Sends a stored body to the engine, with an output limit if the endpoint has output.
async fn send_to(
    endpoint: Endpoint,
    client: &Arc<EngineClient>,
    body: &Value,
) -> Result<Completion, AttemptError> {
    let body = minimize(body.to_string().as_bytes(), 0).unwrap();
    let (max_tokens, salt) = (endpoint.has_output().then_some(64), CacheSalt::new(&[7; 32], AccountKey(1)));
    let asked = Asked { max_tokens, cache_salt: Some(&salt), ..asked(endpoint, body.as_json()) };
    client.complete(asked).await
}

async fn embed(client: &Arc<EngineClient>) -> Result<Completion, AttemptError> {
    send_to(Endpoint::Embeddings, client, &json!({"model": "ours", "input": "hello"})).await
}

fn told(completion: &Completion) -> Value {
    serde_json::from_str(completion.body.as_str()).unwrap()
}

fn without(path: &'static str) -> SimEngine {
    simulate(|tunables| tunables.missing_paths = vec![path])
}

fn is_not_served(outcome: Result<Completion, AttemptError>) -> bool {
    match outcome.unwrap_err() {
        AttemptError::NotServed(status, message) => {
            assert_eq!((status, &*message), (Some(404), "the engine does not serve embeddings: Not Found"));
            true
        }
        AttemptError::Status { code: 404, .. } => false,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn every_prompt_of_a_completion_has_its_answers_in_order() {
    for (owned_by, calls) in [("somebody", 1), ("llamacpp", 2)] {
        let engine = simulate(|tunables| {
            tunables.owned_by = Some(owned_by.to_owned());
            tunables.counts_one_choice = owned_by == "llamacpp";
        });
        let body = json!({"model": "ours", "prompt": ["once", "upon a time"], "n": 2, "seed": 1});
        let completion = send_to(Endpoint::Completions, &client_of(&engine), &body).await.unwrap();
        let answer = told(&completion);
        assert_eq!((&answer["object"], &answer["model"]), (&json!("text_completion"), &json!("ours")));
        let choices = answer["choices"].as_array().unwrap();
        assert_eq!(choices.len(), 4);
        for (index, choice) in choices.iter().enumerate() {
            let prompt = if index < 2 { "once" } else { "upon a time" };
            assert_eq!(choice["index"], index);
            assert!(choice["text"].as_str().unwrap().starts_with(&echo_of(prompt)), "{owned_by} {choice}");
        }
        assert_eq!(engine.attempts_of("upon a time"), calls, "{owned_by}");
        let usage = completion.usage;
        assert_eq!((usage.completion_tokens, &answer["usage"]["completion_tokens"]), (64, &json!(64)));
        assert_eq!(answer["usage"]["total_tokens"], usage.prompt_tokens + 64);
    }
}

#[tokio::test]
async fn choices_that_are_missing_of_several_prompts_make_no_completion() {
    let engine = simulate(|tunables| tunables.ignores_fields = true);
    let body = json!({"model": "ours", "prompt": ["a", "b"], "n": 2});
    let error = send_to(Endpoint::Completions, &client_of(&engine), &body).await.unwrap_err();
    assert!(matches!(error, AttemptError::NotACompletion(_)), "{error:?}");
    let body = json!({"model": "ours", "prompt": "a", "n": 2});
    let completion = send_to(Endpoint::Completions, &client_of(&engine), &body).await.unwrap();
    assert_eq!(told(&completion)["choices"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn embeddings_have_no_limit_and_no_output_and_pass_in_either_encoding() {
    let (_engine, client) = simulate_with_client(|_| {});
    for (encoding, is_text) in [("float", false), ("base64", true)] {
        let body = json!({"model": "ours", "input": ["a", "b"], "encoding_format": encoding});
        let completion = send_to(Endpoint::Embeddings, &client, &body).await.unwrap();
        let answer = told(&completion);
        assert_eq!((&answer["object"], &answer["model"]), (&json!("list"), &json!("ours")));
        let data = answer["data"].as_array().unwrap();
        assert!(data.len() == 2 && data.iter().all(|it| it["embedding"].is_string() == is_text), "{answer}");
        let found = (completion.usage.completion_tokens, answer["usage"]["completion_tokens"].is_null());
        assert_eq!(found, (0, true));
    }
}

#[tokio::test]
async fn an_engine_that_answers_chats_and_has_no_embeddings_does_not_serve_them() {
    let engine = without("/v1/embeddings");
    let client = client_of(&engine);
    assert!(!is_not_served(embed(&client).await), "it may lack the model");
    ask(&client, "hello").await.unwrap();
    assert!(is_not_served(embed(&client).await));
    // A probe detects it too.
    let client = client_of(&engine);
    assert_eq!(client.probe("ours", false).await, ProbeOutcome::Healthy);
    assert!(is_not_served(embed(&client).await));
}

#[tokio::test]
async fn an_engine_that_lost_the_model_is_not_told_from_its_endpoints() {
    let (engine, client) = simulate_with_client(|_| {});
    ask(&client, "hello").await.unwrap();
    engine.tune(|tunables| tunables.models = vec!["another".to_owned()]);
    assert!(!is_not_served(embed(&client).await), "it speaks of the model");
    assert!(matches!(client.probe("ours", false).await, ProbeOutcome::Failed(_)));
    engine.tune(|tunables| tunables.models = vec!["theirs".to_owned()]);
    assert_eq!(client.probe("ours", false).await, ProbeOutcome::Healthy);
    embed(&client).await.unwrap();
}

#[tokio::test]
async fn an_engine_that_serves_embeddings_alone_is_probed_by_them() {
    let engine = without("/v1/chat/completions");
    let client = client_of(&engine);
    assert_eq!(client.probe("ours", false).await, ProbeOutcome::Failed("status 404: Not Found".to_owned()));
    embed(&client).await.unwrap();
    assert_eq!((client.probe("ours", false).await, engine.attempts_of("Hi")), (ProbeOutcome::Healthy, 1));
    engine.tune(|tunables| tunables.models.clear());
    let words = "status 404: The model `theirs` does not exist.";
    assert!(matches!(client.probe("ours", false).await, ProbeOutcome::Failed(why) if why == words));
    // The engine was unreachable at the first check.
    let client = client_of(&engine);
    engine.die(1);
    let _ = embed(&client).await;
    engine.tune(|tunables| tunables.models = vec!["theirs".to_owned()]);
    let healthy = async {
        while client.probe("ours", false).await != ProbeOutcome::Healthy {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), healthy).await.expect("it works");
}
