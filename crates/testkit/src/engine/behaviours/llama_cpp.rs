//! llama-server of llama.cpp.

use super::Behaviour;
use super::Outcome::{FailsAtOnce, PausesIfEveryRequest, Retried, Waits};
use crate::engine::Fault;

const HTTP: &str = "https://github.com/ggml-org/llama.cpp/blob/00dd0816/tools/server/server-http.cpp";

const fn row(name: &'static str, source: &'static str) -> Behaviour {
    Behaviour::of("llama.cpp", name, source)
}

pub(super) const ROWS: &[Behaviour] = &[
    row("llama-cpp-loading", HTTP)
        .answers(503, r#"{"error":{"message":"Loading model","type":"unavailable_error","code":503}}"#)
        .becomes_saying(Waits(None), "Loading model"),
    row("llama-cpp-dies", "https://github.com/ggml-org/llama.cpp/issues/9195")
        .acts(Fault::Die { ms: 10 })
        .becomes(Retried),
    row("llama-cpp-output-as-error", "https://github.com/ggml-org/llama.cpp/issues/24327")
        .answers(500, "{\"error\":{\"code\":500,\"message\":\"Failed to parse input at pos 0: Overseas selling prices: Austria. Sch 18: Belgium.\u{fffd} Canaries\",\"type\":\"server_error\"}}")
        .becomes_saying(Retried, "Failed to parse input at pos 0: Overseas selling prices"),
    row("llama-cpp-plain-text-error", HTTP)
        .answers(500, "Unknown Exception")
        .with(&[("content-type", "text/plain")])
        .becomes_saying(Retried, "Unknown Exception"),
    row("llama-cpp-unknown-path", HTTP)
        .answers(404, r#"{"error":{"message":"File Not Found","type":"not_found_error","code":404}}"#)
        .becomes_saying(Retried, "File Not Found"),
    row("llama-cpp-wrong-key", HTTP)
        .answers(401, r#"{"error":{"message":"Invalid API Key","type":"authentication_error","code":401}}"#)
        .becomes_saying(Retried, "Invalid API Key"),
    row("llama-cpp-context-exceeded", "https://github.com/ggml-org/llama.cpp/pull/15780")
        .answers(400, r#"{"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"exceed_context_size_error","n_prompt_tokens":14429,"n_ctx":8192}}"#)
        .becomes_saying(FailsAtOnce, "the request exceeds the available context size."),
    row(
        "llama-cpp-not-supported",
        "https://github.com/ggml-org/llama.cpp/blob/006639c3/tools/server/server-common.cpp",
    )
    .answers(501, r#"{"error":{"code":501,"message":"This server does not support completions","type":"not_supported_error"}}"#)
    .becomes_saying(FailsAtOnce, "This server does not support completions"),
    row("llama-cpp-router-lacks-model", "https://github.com/ggml-org/llama.cpp/issues/17968")
        .answers(400, r#"{"error":{"code":400,"message":"model not found","type":"invalid_request_error"}}"#)
        .becomes_saying(PausesIfEveryRequest, "model not found"),
    row("llama-cpp-broken-tool-history", "https://github.com/OpenHands/OpenHands/issues/13949")
        .answers(500, r#"{"error":{"code":500,"message":"Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] parse error at line 1, column 74: syntax error"}}"#)
        .becomes_saying(Retried, "Failed to parse tool call arguments as JSON"),
    row("llama-cpp-load-failure", "https://github.com/NousResearch/hermes-agent/pull/102106")
        .answers(500, "model failed to load")
        .with(&[("content-type", "text/plain")])
        .becomes_saying(Retried, "model failed to load"),
];
