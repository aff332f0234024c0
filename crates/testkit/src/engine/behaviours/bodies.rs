//! Bodies that many rows share.

/// A completion with one choice: the members of its message after the role, its `finish_reason`, then the members after the choices
/// (default: usage).
macro_rules! completion {
    ($message:literal, $reason:literal) => {
        completion!(
            $message,
            $reason,
            r#","usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11}"#
        )
    };
    ($message:literal, $reason:literal, $rest:literal) => {
        concat!(
            r#"{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"theirs","choices":[{"index":0,"message":{"role":"assistant","#,
            $message,
            r#"},"finish_reason":"#,
            $reason,
            "}]",
            $rest,
            "}"
        )
    };
}

pub(super) use completion;
