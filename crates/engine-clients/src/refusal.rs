//! Messages of engines that refuse a request, made printable.

use hyper::StatusCode;
use overnight_domain::answers::{find_message, page_title};
use overnight_domain::json::repair;
use overnight_outgoing::transport::printable;

pub(super) struct Refusal {
    pub(super) code: u16,
    pub(super) message: String,
    /// As named by the engine.
    pub(super) retry_after_ms: Option<i64>,
}

/// The message in an error's body: its message, the title of a page, the text, or the name of the status.
pub(super) fn message(status: StatusCode, body: &[u8]) -> String {
    let words = match repair(body) {
        Ok(repaired) => find_message(repaired.text.as_json()),
        Err(_) => page_title(body),
    };
    let words = words.unwrap_or_else(|| String::from_utf8_lossy(body).into_owned());
    match words.trim() {
        "" | "{}" | "[]" | "null" => status.canonical_reason().unwrap_or("no message").to_owned(),
        words => printable(words),
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
            (r#"{"detail":[{"msg":"field required"}]}"#, "field required"),
            (r#"[{"error":{"message":"quota"}}]"#, "quota"),
            (r#"{"object":"error","message":"bad","code":400}"#, "bad"),
            (r#"{"error":{"code":3}}"#, r#"{"error":{"code":3}}"#),
            (r#"{"error":null}"#, r#"{"error":null}"#),
            ("<html><head><title>502 Bad Gateway</title></head></html>", "502 Bad Gateway"),
            ("<html></html>", "Bad Gateway"),
            ("  upstream is away \n", "upstream is away"),
            ("", "Bad Gateway"),
            ("\n", "Bad Gateway"),
            ("{}", "Bad Gateway"),
            (r#"{"error":""}"#, r#"{"error":""}"#),
        ] {
            assert_eq!(message(StatusCode::BAD_GATEWAY, body.as_bytes()), expected, "{body}");
        }
    }
}
