//! Ollama, local and in its cloud.

use super::Behaviour;
use super::Outcome::{CompletedWithWarning, Retried, TimedOut, Unlucky, Waits};
use super::bodies::completion;
use crate::engine::Fault;

const ROUTES: &str = "https://github.com/ollama/ollama/blob/fb307609/server/routes.go";

const fn row(name: &'static str, source: &'static str) -> Behaviour {
    Behaviour::of("Ollama", name, source)
}

pub(super) const ROWS: &[Behaviour] = &[
    row("ollama-not-done", "https://github.com/ollama/ollama/issues/17836")
        .answers(
            200,
            completion!(
                r#""content":"","reasoning":"Here's a thinking process:""#,
                "null",
                r#","usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}"#
            ),
        )
        .becomes_saying(CompletedWithWarning("result_body.choices.finish_reason"), "no finish_reason"),
    row("ollama-busy", "https://github.com/ollama/ollama/blob/fb307609/server/sched.go")
        .answers(503, r#"{"error":{"message":"server busy, please try again.  maximum pending requests exceeded","type":"api_error","param":null,"code":null}}"#)
        .becomes_saying(Waits(None), "server busy, please try again.  maximum pending requests exceeded"),
    row("ollama-request-cancelled", ROUTES)
        .answers(499, r#"{"error":{"message":"request canceled","type":"api_error","param":null,"code":null}}"#)
        .becomes_saying(Retried, "request canceled"),
    row("ollama-missing-model", ROUTES)
        .answers(404, r#"{"error":{"message":"model \"theirs\" not found, try pulling it first","type":"not_found_error","param":null,"code":null}}"#)
        .becomes_saying(Retried, "not found, try pulling it first"),
    row("ollama-weekly-limit", "https://github.com/continuedev/continue/issues/11444")
        .answers(429, r#"{"error":"you (name) have reached your weekly usage limit, upgrade for higher limits: https://ollama.com/upgrade or add extra usage: https://ollama.com/settings (ref: 1)"}"#)
        .becomes_saying(Waits(None), "have reached your weekly usage limit"),
    row("ollama-cloud-overloaded", "https://github.com/ollama/ollama/issues/15934")
        .answers(503, r#"{"error":"Server overloaded, please retry shortly (ref: aaa65c70-cfa0-446b-86f1-4ab0e2deb9e4)"}"#)
        .becomes_saying(Waits(None), "Server overloaded, please retry shortly"),
    row("ollama-runner-stopped", "https://github.com/ollama/ollama/blob/fb307609/llm/llama_server.go")
        .answers(500, r#"{"error":{"message":"model runner has unexpectedly stopped, this may be due to resource limitations or an internal error, check ollama server logs for details","type":"api_error","param":null,"code":null}}"#)
        .becomes_saying(Retried, "model runner has unexpectedly stopped"),
    row("ollama-broken-tool-call", "https://github.com/ollama/ollama/issues/17638")
        .answers(500, r#"{"error":{"message":"error parsing tool call: raw='{\"input\":\"*** Begin Patch\"}]', err=invalid character ']' after top-level value","type":"api_error","param":null,"code":null}}"#)
        .becomes_saying(Retried, "error parsing tool call"),
    row("ollama-unexpected-eof", "https://github.com/ollama/ollama/issues/16082")
        .answers(400, r#"{"error":{"message":"unexpected EOF","type":"invalid_request_error","param":null,"code":null}}"#)
        .becomes_saying(Unlucky, "unexpected EOF"),
    row("ollama-nan", "https://github.com/ollama/ollama/issues/9639")
        .answers(500, r#"{"error":{"message":"failed to encode response: json: unsupported value: NaN","type":"api_error","param":null,"code":null}}"#)
        .becomes_saying(Retried, "json: unsupported value: NaN"),
    row("ollama-never-answers", "https://github.com/ollama/ollama/issues/15950")
        .acts(Fault::Hang)
        .becomes(TimedOut),
    row("ollama-list-of-errors", "https://github.com/ollama/ollama/issues/8876")
        .answers(500, r#"{"errors":[{"code":"INTERNAL_ERROR","message":"internal error"}]}"#)
        .becomes_saying(Retried, "internal error"),
    row(
        "ollama-page-as-message",
        "https://github.com/ollama/ollama/blob/fb307609/middleware/openai.go",
    )
    .answers(502, r#"{"error":{"message":"<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body></body>\r\n</html>\r\n","type":"api_error","param":null,"code":null}}"#)
    .becomes_saying(Retried, "502 Bad Gateway"),
];
