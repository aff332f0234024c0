//! What is answered when something is refused.

use serde::{Deserialize, Serialize};

use crate::native::errors::ErrorBody;

/// Where a native body has the chat completion that is the whole body here.
const NATIVE_BODY: &str = "request_body.";

/// Why something was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorObject {
    /// What is wrong, for a person to read.
    pub message: String,
    /// The kind of refusal, for a program to tell by.
    #[serde(rename = "type")]
    pub kind: String,
    /// What in the input is at fault, or null.
    pub param: Option<String>,
    /// The exact refusal, for a program to tell by.
    pub code: Option<String>,
}

#[derive(Serialize)]
struct Envelope<'a> {
    error: &'a ErrorObject,
}

impl ErrorObject {
    /// A refusal of the native dialect, with its paths as they are in this one.
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
