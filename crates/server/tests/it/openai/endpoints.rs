use serde_json::{Value, json};

use super::support::{Stage, refused};
use crate::support::MODEL;

const COMPLETIONS: &str = "/openai/v1/completions";
const EMBEDDINGS: &str = "/openai/v1/embeddings";

#[tokio::test]
async fn calls_wait_for_the_end_of_their_request_which_is_one_of_the_native_dialect() {
    let stage = Stage::start(&[]).await;
    for (path, body) in [
        (
            COMPLETIONS,
            json!({"model": MODEL, "prompt": ["once", "upon"], "suffix": "x", "echo": true, "logprobs": 2}),
        ),
        (EMBEDDINGS, json!({"model": MODEL, "input": "once", "encoding_format": "base64", "user": "u"})),
    ] {
        let mut sent = body.clone();
        sent["metadata"] = json!({"row": "17"});
        let answered = stage.completed(path, &sent).await;
        let found = (answered.status, answered.header("content-type"));
        assert_eq!(found, (200, "application/json"), "{answered:?}");
        let id = answered.header("x-overnight-request");
        let record = stage.app.client().record(id).await;
        assert_eq!((&record["request_body"], &record["metadata"]), (&body, &json!({"row": "17"})));
        let found = &record["result_body"];
        assert_eq!(*found, answered.json(), "it is the answer of the engine, and nothing else");
        assert!(record.get("endpoint").is_none(), "records have the members that are documented");
        // Other views of the request show something.
        let client = stage.app.client();
        for path in [
            format!("/exxa/v1/requests/{id}"),
            format!("/openai/v1/responses/{}", id.replace("req_", "resp_")),
        ] {
            assert_eq!(client.get(&path).await.status, 200, "{path}");
        }
    }
    assert_eq!(stage.requests(2).await.len(), 2);
    stage.app.stop().await;
}

#[tokio::test]
async fn a_completion_may_be_read_as_events() {
    let stage = Stage::start(&[]).await;
    let body =
        json!({"model": MODEL, "prompt": "once", "stream": true, "stream_options": {"include_usage": true}});
    let answered = stage.completed(COMPLETIONS, &body).await;
    assert_eq!((answered.status, answered.header("content-type")), (200, "text/event-stream; charset=utf-8"));
    let events = answered.text().split_terminator("\n\n").filter_map(|event| event.strip_prefix("data: "));
    let events: Vec<&str> = events.collect();
    assert_eq!((events.len(), events[2]), (3, "[DONE]"));
    let usage: Value = serde_json::from_str(events[1]).expect("JSON");
    assert_eq!(usage["usage"]["total_tokens"], 4);

    let failed = Stage::call(stage.app.client(), COMPLETIONS, &body);
    stage.fail_all(2).await;
    assert!(stage.answer(failed).await.text().contains("\"code\":\"engine_rejected\""));
    stage.app.stop().await;
}

#[tokio::test]
async fn what_breaks_a_rule_is_refused_at_its_member() {
    let stage = Stage::start(&[]).await;
    let client = stage.app.client();
    for (path, body, param) in [
        (COMPLETIONS, json!({"model": MODEL}), "prompt"),
        (COMPLETIONS, json!({"model": MODEL, "prompt": "a", "best_of": 2}), "best_of"),
        (COMPLETIONS, json!({"model": MODEL, "messages": [], "prompt": "a", "n": 0}), "n"),
        (COMPLETIONS, json!({"model": "unknown", "prompt": "a"}), "model"),
        (EMBEDDINGS, json!({"model": MODEL}), "input"),
        (EMBEDDINGS, json!({"model": MODEL, "input": []}), "input"),
        (EMBEDDINGS, json!({"model": MODEL, "input": "a", "stream": true}), "stream"),
        (EMBEDDINGS, json!({"model": MODEL, "input": "a", "encoding_format": "bytes"}), "encoding_format"),
    ] {
        let answered = client.post(path, &body).await;
        let error = refused(&answered, 400, "invalid_input");
        assert_eq!(error["param"], param, "{error}");
    }
    assert_eq!(stage.requests_so_far().await, 0);
    stage.app.stop().await;
}

#[tokio::test]
async fn an_embedding_holds_its_input_alone() {
    let stage = Stage::start(&[]).await;
    let held = async || stage.app.client().get("/v1/account").await.json()["held"].clone();
    // 8 bytes of text in tokens of two, and 4 tokens around it, at 0.10 for a million.
    let call = Stage::call(stage.app.client(), EMBEDDINGS, &json!({"model": MODEL, "input": "abcdef"}));
    stage.requests(1).await;
    assert_eq!(held().await, "0.0000008");
    stage.app.fail_all().await;
    stage.answer(call).await;
    assert_eq!(held().await, "0");
    stage.app.stop().await;
}
