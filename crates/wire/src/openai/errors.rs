//! Errors in OpenAI's form.

use serde::{Deserialize, Serialize};

use crate::native::errors::ErrorBody;

/// The prefix of native paths to the chat completion, which is the whole body in this dialect.
const NATIVE_BODY: &str = "request_body.";

/// The error of a refused call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorObject {
    /// For people.
    pub message: String,
    /// The kind of refusal, for programs.
    #[serde(rename = "type")]
    pub kind: String,
    /// The path of the member at fault.
    pub param: Option<String>,
    /// The exact refusal, for programs.
    pub code: Option<String>,
}

#[derive(Serialize)]
struct Envelope<'a> {
    error: &'a ErrorObject,
}

impl ErrorObject {
    /// Converts a native error and its paths to this dialect.
    pub fn from_native(body: ErrorBody) -> Self {
        Self {
            message: without_prefix(body.message),
            kind: body.kind,
            param: body.param.map(without_prefix),
            code: Some(body.code),
        }
    }

    /// Appends `{"error": {…}}`.
    pub fn write_envelope(&self, out: &mut Vec<u8>) {
        // It is always serialisable, and writing to memory cannot fail.
        let _ = serde_json::to_writer(out, &Envelope { error: self });
    }
}

fn without_prefix(text: String) -> String {
    text.strip_prefix(NATIVE_BODY).map(str::to_owned).unwrap_or(text)
}
