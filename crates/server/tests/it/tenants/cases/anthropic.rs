//! The operations of Anthropic's dialect. The one that waits for an engine gets a body that is refused before the wait.

use super::Noun::MessageBatch;
use super::Place::Query;
use super::Stage::Completed;
use super::{Case, program};
use crate::tenants::sent::Sent::Json;

const BATCH: &str = r#"{"requests":[{"custom_id":"a","params":{"model":"llama-3.1-8b-instruct","max_tokens":5,"messages":[{"role":"user","content":"hello"}]}}]}"#;

pub(super) const CASES: &[Case] = &[
    program("POST /anthropic/v1/messages").sending(Json("{}")).refused(400),
    program("GET /anthropic/v1/messages/batches"),
    program("GET /anthropic/v1/messages/batches").naming_in(Query("before_id=ID"), &[MessageBatch]),
    program("GET /anthropic/v1/messages/batches").naming_in(Query("after_id=ID"), &[MessageBatch]),
    program("POST /anthropic/v1/messages/batches").sending(Json(BATCH)),
    program("GET /anthropic/v1/messages/batches/{batch_id}").naming(&[MessageBatch]),
    program("DELETE /anthropic/v1/messages/batches/{batch_id}").naming(&[MessageBatch]).once(Completed),
    program("POST /anthropic/v1/messages/batches/{batch_id}/cancel").naming(&[MessageBatch]),
    program("GET /anthropic/v1/messages/batches/{batch_id}/results").naming(&[MessageBatch]).once(Completed),
    program("GET /anthropic/v1/models"),
    program("GET /anthropic/v1/models/{*model}"),
];
