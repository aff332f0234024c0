//! What an engine says when it refuses, made fit to be passed on.

use hyper::StatusCode;
use serde_json::Value;

use crate::transport::printable;

/// The engine's words in an error answer: OpenAI's envelope and its relatives, else the text, else the status's name.
pub(super) fn message(status: StatusCode, body: &[u8]) -> String {
    let words = serde_json::from_slice(body).ok().and_then(|body| from_envelope(&body));
    let words = words.unwrap_or_else(|| String::from_utf8_lossy(body).into_owned());
    match words.trim() {
        "" => status.canonical_reason().unwrap_or("no message").to_owned(),
        words => printable(words),
    }
}

fn from_envelope(body: &Value) -> Option<String> {
    let error = body.get("error").or_else(|| body.get("detail")).unwrap_or(body);
    let words = error.get("message").unwrap_or(error);
    match words {
        Value::String(words) => Some(words.clone()),
        Value::Null => None,
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_found_in_every_usual_place() {
        for (body, expected) in [
            (r#"{"error":{"message":"too long","type":"x"}}"#, "too long"),
            (r#"{"error":"no such model"}"#, "no such model"),
            (r#"{"detail":"Not Found"}"#, "Not Found"),
            (r#"{"detail":[{"msg":"field required"}]}"#, r#"[{"msg":"field required"}]"#),
            (r#"{"object":"error","message":"bad","code":400}"#, "bad"),
            (r#"{"error":{"code":3}}"#, r#"{"code":3}"#),
            (r#"{"error":null}"#, r#"{"error":null}"#),
            ("  upstream is away \n", "upstream is away"),
            ("", "Bad Gateway"),
            ("\n", "Bad Gateway"),
            (r#"{"error":""}"#, "Bad Gateway"),
        ] {
            assert_eq!(message(StatusCode::BAD_GATEWAY, body.as_bytes()), expected, "{body}");
        }
    }
}
