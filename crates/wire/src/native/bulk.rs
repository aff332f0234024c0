//! Bulk create: one answer line for each line sent, in the same order, with the line's digest.

pub use overnight_domain::line_digests::LineDigest;
use overnight_domain::records;
use serde::{Deserialize, Serialize};

use super::errors::ErrorBody;
use super::requests::{RequestCreated, write_status};
use crate::json::{Told, Value as _, members, object, push};

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
    "sha256": "5aa1d2c0d0b3b7b6a2a5a8e1c6f86f7ad7b29a0ad4a1f2f3b1c2ddc5f5f3a9f1",
    "id": "req_01jz8m3v6qf8jbk2w5n7y9t0xd",
    "status": "registered",
    "created_at": 1751500000,
    "expires_at": 1751586400
})))]
pub struct LineCreated {
    /// The number of the line, from 1. Blank lines count and are not answered.
    pub line: u64,
    /// The SHA-256 of the line without its line break, in hexadecimal. A proxy may change the line's place: an answer is to the
    /// line with this digest.
    pub sha256: String,
    /// The request.
    #[serde(flatten)]
    pub request: RequestCreated,
}

/// A line of a bulk create that made no request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(example = json!({
    "line": 4,
    "sha256": "0b6a4f9c8f6f4e1f9f1b7c1e5d2a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c",
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
    /// The SHA-256 of the line without its line break, in hexadecimal.
    pub sha256: String,
    /// Why.
    pub error: ErrorBody,
}

/// The line that an answer belongs to.
#[derive(Debug, Clone, Copy)]
pub struct Answered<'a> {
    /// Its number, from 1.
    pub line: u64,
    /// Its SHA-256 in hexadecimal.
    pub sha256: &'a str,
}

/// Appends the line of a created request, with its line break.
pub fn write_created(to: Answered<'_>, request: &records::RequestSummary, out: &mut Vec<u8>) {
    let mut record = Vec::new();
    write_status(request, &mut record);
    write_repeated(to, &record, out);
}

/// Appends the line of a request that an earlier call created, with the record written then.
pub fn write_repeated(to: Answered<'_>, record: &[u8], out: &mut Vec<u8>) {
    let rest = record.strip_prefix(b"{").and_then(|record| record.strip_suffix(b"}")).unwrap_or(record);
    object! { ..head(to), ..|out: &mut Vec<u8>| out.extend([b",", rest].concat()) }.append(out);
    push("\n", out);
}

/// Appends the line of a refused request, with its line break.
pub fn write_refused(to: Answered<'_>, error: &ErrorBody, out: &mut Vec<u8>) {
    object! { ..head(to), "error": Told(error) }.append(out);
    push("\n", out);
}

fn head(to: Answered<'_>) -> impl Fn(&mut Vec<u8>) {
    members! { "line": i64::try_from(to.line).unwrap_or(i64::MAX), "sha256": to.sha256 }
}
