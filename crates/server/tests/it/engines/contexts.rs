//! Requests without an output limit, at engines whose context is at most our 64 tokens.

use std::sync::Arc;

use overnight_domain::scheduler::AttemptError;
use overnight_engine_clients::EngineClient;
use overnight_testkit::engine::SimEngine;
use serde_json::json;

use super::{ask, client_of, send, simulate_with_client, simulate_with_context};

/// The number of requests that the engine refused unread.
fn refused(engine: &SimEngine) -> u64 {
    engine.counters().rejected
}

/// The message of a 400.
async fn refusal(client: &Arc<EngineClient>, content: &str) -> String {
    match ask(client, content).await {
        Err(AttemptError::Status { code: 400, message, .. }) => message,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_engine_whose_listed_context_is_no_longer_than_our_limit_is_sent_none() {
    for context in [32, 64] {
        let engine = simulate_with_context(context, |_| {});
        ask(&client_of(&engine), "hello").await.unwrap();
        assert_eq!(refused(&engine), 0, "{context}");
    }
}

#[tokio::test]
async fn a_limit_of_ours_that_is_refused_is_left_out() {
    // Two engines: one lists no context; the context of the other leaves less than the limit after the prompt.
    for (context, lists_context) in [(64, false), (72, true)] {
        let engine = simulate_with_context(context, |tunables| tunables.lists_context = lists_context);
        let content = "a prompt of some length, of which there are ten tokens";
        let completion = ask(&client_of(&engine), content).await.unwrap();
        assert_eq!((completion.usage.completion_tokens, refused(&engine)), (16, 1), "{context}");
    }
    let (engine, client) = simulate_with_client(|_| {});
    let content = "[[sim:status=422 x1]]";
    ask(&client, content).await.unwrap();
    assert_eq!(engine.attempts_of(content), 2);
}

#[tokio::test]
async fn a_request_that_is_refused_without_a_limit_too_is_refused_with_those_words() {
    let engine = simulate_with_context(64, |tunables| tunables.lists_context = false);
    let words = refusal(&client_of(&engine), &"long ".repeat(100)).await;
    assert!(words.contains("maximum context length is 64 tokens; 128 were asked for"), "{words}");
    assert_eq!(refused(&engine), 2);
}

#[tokio::test]
async fn a_limit_of_the_clients_own_is_never_left_out() {
    let engine = simulate_with_context(64, |_| {});
    let client = client_of(&engine);
    for limit in ["max_tokens", "max_completion_tokens"] {
        let messages = json!([{"role": "user", "content": "hello"}]);
        let error = send(&client, &json!({"model": "ours", "messages": messages, limit: 100})).await;
        assert!(matches!(error, Err(AttemptError::Status { code: 400, .. })), "{error:?}");
    }
    assert_eq!(refused(&engine), 2);
}

#[tokio::test]
async fn other_refusals_are_not_repeated() {
    let (engine, client) = simulate_with_client(|_| {});
    for code in [401, 404, 413, 429, 500] {
        let content = format!("[[sim:status={code}]]");
        ask(&client, &content).await.unwrap_err();
        assert_eq!(engine.attempts_of(&content), 1, "{code}");
    }
}
