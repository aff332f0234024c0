//! Complete bodies and records of this dialect.

use overnight_domain::endpoints::Endpoint;
use overnight_domain::ids::{BatchId, RequestId};
use overnight_domain::json::minimize;
use overnight_domain::records::{ClientFields, RequestRecord, RequestSummary};
use overnight_domain::requests::RequestState;
use serde_json::{Value, json};

use super::chat::to_native;
use super::requests::{write_full, write_result, write_status};

fn translated(body: &Value) -> Result<Value, (String, &'static str)> {
    let text = minimize(body.to_string().as_bytes(), 0).expect("JSON");
    match to_native(text) {
        Ok(text) => Ok(serde_json::from_str(text.as_str()).expect("JSON")),
        Err(faults) => {
            let fault = faults.kept().first().expect("a fault");
            Err((fault.param.clone(), fault.code))
        }
    }
}

fn record(state: RequestState, result: Option<Value>) -> RequestRecord {
    let summary =
        RequestSummary { id: RequestId::from_bits(1), state, created_at: 1_000, expires_at: 87_401_000 };
    RequestRecord {
        summary,
        batch_id: Some(BatchId::from_bits(2)),
        endpoint: Endpoint::ChatCompletions,
        client: ClientFields { metadata: None, webhook: None },
        body: b"{}".as_slice().into(),
        result: result.map(|result| result.to_string().into_bytes().into()),
        warnings: None,
        attempts: Vec::new(),
    }
}

fn told(write: fn(&RequestRecord, &mut Vec<u8>), record: &RequestRecord) -> Value {
    let mut out = Vec::new();
    write(record, &mut out);
    serde_json::from_slice(&out).expect("JSON")
}

const COMPLETED: RequestState = RequestState::Completed { in_progress_at: 2_000, ended_at: 3_000 };

#[test]
fn parts_and_schemas_of_this_dialect_become_those_of_the_native_one() {
    let sent = json!({"metadata": {"a": 1}, "request_body": {
        "model": "m", "response_schema": r#"{ "type": "object" }"#,
        "messages": [
            {"role": "system", "content": "short"},
            {"role": "user", "content": [
                {"type": "text", "content": "look"}, {"type": "text", "text": "here"},
                {"type": "image", "url": "data:image/png;base64,AA=="}, {"type": "image_url", "image_url": {"url": "data:,"}},
                17,
            ]},
        ],
    }});
    let native = json!({"metadata": {"a": 1}, "request_body": {
        "model": "m",
        "response_format": {"type": "json_schema", "json_schema": {"name": "response_schema", "schema": {"type": "object"}}},
        "messages": [
            {"role": "system", "content": "short"},
            {"role": "user", "content": [
                {"type": "text", "text": "look"}, {"type": "text", "text": "here"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
                {"type": "image_url", "image_url": {"url": "data:,"}}, 17,
            ]},
        ],
    }});
    assert_eq!(translated(&sent), Ok(native.clone()));
    assert_eq!(translated(&native), Ok(native));
}

#[test]
fn what_has_another_form_is_left_to_the_checks_of_the_native_dialect() {
    for body in [
        json!([1]),
        json!({"request_body": 1, "more": null}),
        json!({"request_body": {"messages": {"role": "user"}}}),
        json!({"request_body": {"messages": ["x", {"content": [{"type": 1}]}, {"content": null}]}}),
    ] {
        assert_eq!(translated(&body), Ok(body.clone()), "{body}");
    }
}

#[test]
fn a_schema_is_an_object_as_json_in_a_string_and_the_only_format() {
    let param = "request_body.response_schema".to_owned();
    for (body, code) in [
        (json!({"response_schema": {"type": "object"}}), "wrong_type"),
        (json!({"response_schema": "[]"}), "wrong_type"),
        (json!({"response_schema": "{"}), "invalid_json"),
        (json!({"response_schema": "[".repeat(70)}), "too_deep"),
        (json!({"response_schema": "{}", "response_format": {"type": "text"}}), "conflict"),
    ] {
        assert_eq!(translated(&json!({"request_body": body})), Err((param.clone(), code)), "{body}");
    }
    let none = json!({"request_body": {"response_schema": null}});
    assert_eq!(translated(&none), Ok(json!({"request_body": {}})));
}

#[test]
fn a_schema_may_be_as_deep_as_the_body_that_it_becomes_a_part_of() {
    let nested = |depth: usize| format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
    for (depth, is_taken) in [(60, true), (61, false)] {
        let outcome = translated(&json!({"request_body": {"response_schema": nested(depth)}}));
        assert_eq!(outcome.is_ok(), is_taken, "{depth}");
        if let Ok(body) = outcome {
            minimize(body.to_string().as_bytes(), 0).expect("no deeper than is taken in");
        }
    }
}

#[test]
fn a_completion_has_no_null_in_its_usage() {
    let completion = json!({"choices": [{"index": 0}], "usage": {"total_tokens": 3, "prompt_tokens_details": null}, "id": "x"});
    let line = told(write_result, &record(COMPLETED, Some(completion)));
    let expected = json!({"choices": [{"index": 0}], "usage": {"total_tokens": 3}, "id": "x"});
    assert_eq!(
        (&line["result_body"], &line["error"], &line["metadata"]),
        (&expected, &Value::Null, &json!({}))
    );
    assert_eq!(told(write_full, &record(COMPLETED, Some(expected)))["error"], Value::Null);
}

#[test]
fn every_line_of_results_has_choices_usage_and_an_error_that_is_null_or_a_text() {
    let ended_at = 3_000;
    let error = json!({"message": "too long", "type": "t", "code": "c", "param": null});
    for (state, result, error_object, error) in [
        (RequestState::Queued, None, None, Value::Null),
        (RequestState::InProgress { in_progress_at: 2_000 }, None, None, Value::Null),
        (RequestState::Cancelled { in_progress_at: None, ended_at }, None, None, json!("cancelled")),
        (
            RequestState::Failed { in_progress_at: None, ended_at },
            Some(json!({ "error": error })),
            Some(error),
            json!("too long"),
        ),
    ] {
        let line = told(write_result, &record(state, result));
        let mut body = json!({"choices": [], "usage": {}});
        if let Some(object) = error_object {
            body["error"] = object;
        }
        assert_eq!((&line["result_body"], &line["error"]), (&body, &error));
    }
}

#[test]
fn states_have_no_blank_and_a_record_that_has_not_ended_no_result() {
    let running = record(RequestState::InProgress { in_progress_at: 2_000 }, None);
    let mut status = Vec::new();
    write_status(&running.summary, &mut status);
    let expected = json!({"id": running.summary.id.to_string(), "status": "in_progress", "created_at": 1,
        "expires_at": 87_401, "in_progress_at": 2});
    assert_eq!(serde_json::from_slice::<Value>(&status).expect("JSON"), expected);
    let full = told(write_full, &running);
    assert_eq!((full.get("result_body"), full.get("error")), (None, None));
    assert_eq!(full["batch_id"], running.batch_id.map(|id| id.to_string()).expect("a batch"));
}
