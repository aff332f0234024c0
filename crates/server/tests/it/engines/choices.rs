//! Requests for several choices, and engines whose `usage` counts only one of them.

use overnight_testkit::engine::SimEngine;
use serde_json::{Value, json};

use super::{client_of, send, simulate};

fn forgetful(owned_by: &str) -> SimEngine {
    simulate(|tunables| {
        tunables.owned_by = Some(owned_by.to_owned());
        tunables.counts_one_choice = true;
    })
}

fn three_choices(content: &str) -> Value {
    let messages = json!([{"role": "user", "content": content}]);
    json!({"model": "ours", "n": 3, "seed": 7, "messages": messages})
}

#[tokio::test]
async fn llama_server_is_asked_for_each_choice_and_all_of_them_are_counted() {
    let engine = forgetful("llamacpp");
    let completion = send(&client_of(&engine), &three_choices("hello")).await.unwrap();
    assert_eq!((completion.usage.completion_tokens, engine.attempts_of("hello")), (48, 3));
    let body: Value = serde_json::from_str(completion.body.as_str()).unwrap();
    let choices = body["choices"].as_array().unwrap();
    let indexes: Vec<_> = choices.iter().map(|choice| choice["index"].as_u64()).collect();
    assert_eq!(indexes, [Some(0), Some(1), Some(2)]);
    assert_eq!(body["usage"]["completion_tokens"], 48);
    let (prompt, total) = (completion.usage.prompt_tokens, completion.usage.total_tokens);
    assert_eq!((total, &body["usage"]["total_tokens"]), (prompt + 48, &json!(total)));
}

#[tokio::test]
async fn any_other_engine_is_asked_once_and_believed() {
    let engine = simulate(|_| {});
    let completion = send(&client_of(&engine), &three_choices("hello")).await.unwrap();
    assert_eq!((completion.usage.completion_tokens, engine.attempts_of("hello")), (48, 1));
    let engine = forgetful("somebody");
    let completion = send(&client_of(&engine), &three_choices("hello")).await.unwrap();
    assert_eq!((completion.usage.completion_tokens, engine.attempts_of("hello")), (16, 1));
}

#[tokio::test]
async fn an_engine_that_leaves_choices_out_is_asked_for_them() {
    let engine = simulate(|tunables| tunables.ignores_fields = true);
    let completion = send(&client_of(&engine), &three_choices("hello")).await.unwrap();
    assert_eq!((completion.usage.completion_tokens, engine.attempts_of("hello")), (48, 3));
    let body: Value = serde_json::from_str(completion.body.as_str()).unwrap();
    let indexes: Vec<_> = body["choices"].as_array().unwrap().iter().map(|it| it["index"].as_u64()).collect();
    assert_eq!(indexes, [Some(0), Some(1), Some(2)]);
}

#[tokio::test]
async fn choices_of_which_one_fails_fail_together() {
    let engine = forgetful("llamacpp");
    let content = "[[sim:ok x1]][[sim:status=500]]";
    send(&client_of(&engine), &three_choices(content)).await.unwrap_err();
    assert_eq!(engine.attempts_of(content), 2);
}
