//! Batches and their files as OpenAI's SDKs read them.

use overnight_domain::batches::{BatchState, Counters};
use overnight_domain::endpoints::Endpoint;
use overnight_domain::files::{BatchEndpoint, BatchFile, BatchInput};
use overnight_domain::ids::{BatchId, FileId, RequestId};
use overnight_domain::records::{BatchRecord, ClientFields, RequestRecord, RequestSummary};
use overnight_domain::requests::{COMPLETION_WINDOW_MS, RequestState};
use serde_json::{Value, json};

use super::batches::{Batch, write_batch};
use super::files::parse_batch_file;
use super::outputs::{write_answer, write_error, write_input};

const CREATED: i64 = 1_750_000_000_000;

fn text(write: impl FnOnce(&mut Vec<u8>)) -> Value {
    let mut out = Vec::new();
    write(&mut out);
    serde_json::from_slice(&out).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&out)))
}

#[expect(clippy::needless_pass_by_value, reason = "so that cases read well")]
fn batch(state: BatchState, counters: Counters, input: Option<BatchInput>, is_cancelling: bool) -> Value {
    let record = BatchRecord {
        id: BatchId::from_bits(1),
        state,
        counters,
        created_at: CREATED,
        webhook: None,
        metadata: Some(br#"{"a":"b"}"#.to_vec()),
    };
    text(|out| write_batch(&Batch { record: &record, input: input.as_ref(), is_cancelling }, out))
}

fn input(filled: i64, fault_count: i64) -> BatchInput {
    BatchInput {
        file: FileId::from_bits(2),
        endpoint: BatchEndpoint::ChatCompletions,
        lines: 3,
        filled,
        is_filling: filled < 3 && fault_count == 0,
        fault_count,
        faults: (fault_count > 0).then(|| r#"[{"code":"x","line":7}]"#.into()),
        is_output_deleted: false,
        is_error_deleted: false,
    }
}

#[test]
fn a_batch_has_the_state_that_the_sdk_knows() {
    let waiting = Counters { registered: 3, ..Counters::default() };
    let ended = Counters { completed: 2, failed: 1, ..Counters::default() };
    let completed = |at| BatchState::Completed { in_progress_at: CREATED, completed_at: at };
    let cancelled = |at| BatchState::Cancelled { in_progress_at: None, cancelled_at: at };
    let late = CREATED + COMPLETION_WINDOW_MS;
    for (state, counters, input, is_cancelling, expected) in [
        (BatchState::Registered, waiting, Some(input(0, 0)), false, "validating"),
        (BatchState::Registered, waiting, Some(input(1, 0)), false, "in_progress"),
        (BatchState::Registered, waiting, None, false, "in_progress"),
        (completed(late - 1), ended, Some(input(3, 0)), false, "completed"),
        (completed(late), ended, Some(input(3, 0)), false, "expired"),
        (cancelled(CREATED), waiting, None, true, "cancelling"),
        (cancelled(CREATED), ended, None, false, "cancelled"),
        (cancelled(late), ended, Some(input(3, 0)), false, "expired"),
        (cancelled(CREATED), Counters::default(), Some(input(0, 9)), false, "failed"),
    ] {
        let batch = batch(state, counters, input, is_cancelling);
        assert_eq!(batch["status"], expected);
        let ended_at = format!("{expected}_at");
        if ["completed", "expired", "cancelled", "failed"].contains(&expected) {
            assert!(batch[&ended_at].is_i64(), "{ended_at} in {batch}");
        }
    }
}

#[test]
fn files_of_a_batch_are_there_once_they_hold_a_line_and_name_it() {
    let ended = Counters { completed: 1, ..Counters::default() };
    let done = BatchState::Completed { in_progress_at: CREATED, completed_at: CREATED };
    let whole = batch(done, ended, Some(input(3, 0)), false);
    let output = whole["output_file_id"].as_str().expect("an id");
    assert_eq!(parse_batch_file(output), Some((BatchFile::Output, BatchId::from_bits(1))));
    assert_eq!((&whole["error_file_id"], &whole["errors"]), (&Value::Null, &Value::Null));
    assert_eq!((&whole["metadata"], &whole["request_counts"]["total"]), (&json!({"a": "b"}), &json!(1)));
    let gone = BatchInput { is_output_deleted: true, ..input(3, 0) };
    assert_eq!(batch(done, ended, Some(gone), false)["output_file_id"], Value::Null);
    let failed = batch(BatchState::Registered, Counters::default(), Some(input(0, 9)), false);
    assert_eq!((&failed["errors"]["data"][0]["line"], &failed["errors"]["total"]), (&json!(7), &json!(9)));
    assert_eq!(parse_batch_file("file_00000000000000000000000001"), None);
}

fn request(state: RequestState, metadata: &'static str, result: Option<&'static str>) -> RequestRecord {
    RequestRecord {
        summary: RequestSummary {
            id: RequestId::from_bits(3),
            state,
            created_at: CREATED,
            expires_at: CREATED + COMPLETION_WINDOW_MS,
        },
        batch_id: None,
        endpoint: Endpoint::ChatCompletions,
        client: ClientFields { metadata: Some(metadata.into()), webhook: None },
        body: r#"{"model":"m"}"#.into(),
        result: result.map(Into::into),
        warnings: None,
        attempts: Vec::new(),
    }
}

#[test]
fn a_line_has_its_custom_id_or_that_of_its_request() {
    let done = RequestState::Completed { in_progress_at: CREATED, ended_at: CREATED };
    let answer = text(|out| write_answer(&request(done, r#"{"custom_id":"a"}"#, Some("{\"id\":1}")), out));
    let id = RequestId::from_bits(3).to_string();
    let response = json!({"status_code": 200, "request_id": id, "body": {"id": 1}});
    assert_eq!(answer, json!({"id": id, "custom_id": "a", "response": response, "error": null}));
    for metadata in ["{}", r#"{"custom_id":1}"#, r#"{"other":"a"}"#] {
        let line = text(|out| write_input(&request(done, metadata, None), out));
        assert_eq!(line["custom_id"], json!(id));
        assert_eq!((&line["url"], &line["body"]), (&json!("/v1/chat/completions"), &json!({"model": "m"})));
    }
    for endpoint in Endpoint::ALL {
        let line = text(|out| write_input(&RequestRecord { endpoint, ..request(done, "{}", None) }, out));
        assert_eq!(line["url"], endpoint.as_str());
    }
}

#[test]
fn what_an_engine_refused_is_a_response_and_what_the_service_ended_an_error() {
    let failed = RequestState::Failed { in_progress_at: None, ended_at: CREATED };
    for (code, status) in
        [("engine_rejected", 400), ("engine_unavailable", 503), ("engine_invalid_response", 502)]
    {
        let result: &'static str = format!(r#"{{"error":{{"code":"{code}","message":"why"}}}}"#).leak();
        let line = text(|out| write_error(&request(failed, "{}", Some(result)), out));
        assert_eq!((&line["response"]["status_code"], &line["error"]), (&json!(status), &Value::Null));
        assert_eq!(line["response"]["body"]["error"]["message"], "why");
    }
    let expired = r#"{"error":{"code":"expired","message":"too late"}}"#;
    let line = text(|out| write_error(&request(failed, "{}", Some(expired)), out));
    assert_eq!(line["error"], json!({"code": "batch_expired", "message": "too late"}));
    let cancelled = RequestState::Cancelled { in_progress_at: None, ended_at: CREATED };
    let line = text(|out| write_error(&request(cancelled, "{}", None), out));
    assert_eq!((&line["error"]["code"], &line["response"]), (&json!("batch_cancelled"), &Value::Null));
}
