//! Bulk create: a line for each line that was sent, in the same order.

use overnight_domain::records;
use serde::{Deserialize, Serialize};

use super::errors::ErrorBody;
use super::requests::{RequestCreated, write_status};
use crate::json::{push, push_integer, push_key};

/// What became of one line: the request, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum BulkLine {
    /// The line made a request.
    Created(LineCreated),
    /// The line made none.
    Refused(LineRefused),
}

/// A line of a bulk create that made a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(example = json!({
    "line": 3,
    "id": "req_01jz8m3v6qf8jbk2w5n7y9t0xd",
    "status": "registered",
    "created_at": 1751500000,
    "expires_at": 1751586400
})))]
pub struct LineCreated {
    /// The number of the line, from 1. Blank lines count and are not answered.
    pub line: u64,
    /// The request.
    #[serde(flatten)]
    pub request: RequestCreated,
}

/// A line of a bulk create that made no request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(example = json!({
    "line": 4,
    "error": {
        "message": "messages must have at least 1 element",
        "type": "invalid_request_error",
        "code": "invalid_input",
        "param": "request_body.messages",
        "details": [{"param": "request_body.messages", "message": "messages must have at least 1 element", "code": "invalid_value"}],
        "request_id": "call_01jz8m5t1wf3p9z7c2k8e6r4jb"
    }
})))]
pub struct LineRefused {
    /// The number of the line, from 1.
    pub line: u64,
    /// Why.
    pub error: ErrorBody,
}

/// Appends the line of a request that was created, with its line break.
pub fn write_created(line: u64, request: &records::RequestSummary, out: &mut Vec<u8>) {
    let mut record = Vec::new();
    write_status(request, &mut record);
    write_repeated(line, &record, out);
}

/// Appends the line of a request that was created before, from the record that was written then.
pub fn write_repeated(line: u64, record: &[u8], out: &mut Vec<u8>) {
    open(line, out);
    out.push(b',');
    out.extend_from_slice(record.strip_prefix(b"{").unwrap_or(record));
    out.push(b'\n');
}

/// Appends the line of a request that was refused, with its line break.
pub fn write_refused(line: u64, error: &ErrorBody, out: &mut Vec<u8>) {
    open(line, out);
    push_key("error", out);
    // Texts are always serialisable, and writing to memory cannot fail.
    let _ = serde_json::to_writer(&mut *out, error);
    push("}\n", out);
}

fn open(line: u64, out: &mut Vec<u8>) {
    push("{\"line\":", out);
    push_integer(i64::try_from(line).unwrap_or(i64::MAX), out);
}
