//! Batches, models, lists and errors in Anthropic's form.

use overnight_domain::batches::{BatchState, Counters};
use overnight_domain::ids::{BatchId, CallId, MessageBatchId};
use overnight_domain::records::BatchRecord;
use serde_json::{Value, json};

use crate::anthropic::batches::{Batch, write_batch, write_deleted};
use crate::anthropic::errors::{type_of, write_error};
use crate::anthropic::lists::write_page;
use crate::anthropic::models::write_model;

fn written(write: impl FnOnce(&mut Vec<u8>)) -> Value {
    let mut out = Vec::new();
    write(&mut out);
    serde_json::from_slice(&out).expect("JSON")
}

fn batch(state: BatchState, counters: Counters, expired: i64) -> Value {
    let record = BatchRecord {
        id: BatchId::from_bits(7),
        state,
        counters,
        created_at: 1_000,
        webhook: None,
        metadata: None,
    };
    written(|out| write_batch(&Batch { record: &record, expired, base_url: "https://h/anthropic" }, out))
}

#[test]
fn a_batch_is_processing_until_all_of_it_has_ended() {
    let counters = Counters { in_progress: 1, completed: 2, ..Counters::default() };
    let record = batch(BatchState::InProgress { in_progress_at: 2_000 }, counters, 0);
    assert_eq!(
        record,
        json!({"id": "msgbatch_00000000000000000000000007", "type": "message_batch",
            "processing_status": "in_progress",
            "request_counts": {"processing": 3, "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0},
            "created_at": "1970-01-01T00:00:01Z", "expires_at": "1970-01-02T00:00:01Z", "ended_at": null,
            "cancel_initiated_at": null, "archived_at": null, "results_url": null})
    );
}

#[test]
fn an_ended_batch_tells_what_became_of_its_requests_and_where_the_results_are() {
    let counters = Counters { completed: 2, failed: 3, cancelled: 1, ..Counters::default() };
    let state = BatchState::Completed { in_progress_at: 2_000, completed_at: 3_000 };
    let record = batch(state, counters, 1);
    assert_eq!(
        (
            &record["processing_status"],
            &record["ended_at"],
            &record["results_url"],
            &record["request_counts"]
        ),
        (
            &json!("ended"),
            &json!("1970-01-01T00:00:03Z"),
            &json!("https://h/anthropic/v1/messages/batches/msgbatch_00000000000000000000000007/results"),
            &json!({"processing": 0, "succeeded": 2, "errored": 2, "canceled": 1, "expired": 1}),
        )
    );
}

#[test]
fn a_cancelled_batch_is_canceling_until_its_requests_have_ended() {
    let state = BatchState::Cancelled { in_progress_at: None, cancelled_at: 2_000 };
    let live = batch(state, Counters { registered: 1, ..Counters::default() }, 0);
    let ended = batch(state, Counters { cancelled: 1, ..Counters::default() }, 0);
    let told = |record: &Value| {
        [&record["processing_status"], &record["cancel_initiated_at"], &record["ended_at"]].map(Value::clone)
    };
    assert_eq!(told(&live), [json!("canceling"), json!("1970-01-01T00:00:02Z"), Value::Null]);
    assert_eq!(told(&ended), [json!("ended"), json!("1970-01-01T00:00:02Z"), json!("1970-01-01T00:00:02Z")]);
}

#[test]
fn deletions_pages_and_models_have_their_shapes() {
    assert_eq!(
        written(|out| write_deleted(MessageBatchId::from_bits(7), out)),
        json!({"id": "msgbatch_00000000000000000000000007", "type": "message_batch_deleted"})
    );
    let ids = ["a".to_owned(), "b".to_owned()];
    assert_eq!(
        written(|out| write_page(&ids, true, out, |place, out| write_model(
            &ids[place],
            0,
            Some(1_000).filter(|_| place == 1),
            out
        ))),
        json!({"data": [
                {"type": "model", "id": "a", "display_name": "a", "created_at": "1970-01-01T00:00:00Z", "lifecycle": "active",
                 "deprecated_at": null, "retires_at": null},
                {"type": "model", "id": "b", "display_name": "b", "created_at": "1970-01-01T00:00:00Z", "lifecycle": "deprecated",
                 "deprecated_at": null, "retires_at": "1970-01-01T00:00:01Z"}],
            "has_more": true, "first_id": "a", "last_id": "b"})
    );
    assert_eq!(
        written(|out| write_page(&[], false, out, |_, _| {})),
        json!({"data": [], "has_more": false, "first_id": null, "last_id": null})
    );
}

#[test]
fn an_error_has_the_type_of_its_code() {
    for (code, expected) in [
        ("invalid_api_key", "authentication_error"),
        ("insufficient_credits", "billing_error"),
        ("not_found", "not_found_error"),
        ("too_large", "request_too_large"),
        ("too_many_calls", "rate_limit_error"),
        ("unavailable", "overloaded_error"),
        ("internal", "api_error"),
        ("invalid_input", "invalid_request_error"),
    ] {
        assert_eq!(type_of(code), expected);
    }
    assert_eq!(
        written(|out| write_error("not_found_error", "no \"such\"", CallId::from_bits(0), out)),
        json!({"type": "error", "error": {"type": "not_found_error", "message": "no \"such\""},
            "request_id": "call_00000000000000000000000000"})
    );
}
