//! SGLang and its gateway.

use super::Behaviour;
use super::Outcome::{FailsAtOnce, NoUsage, Retried, RetriedUncounted, TimedOut, Waits};
use super::bodies::completion;
use crate::engine::Fault;

const fn row(name: &'static str, source: &'static str) -> Behaviour {
    Behaviour::of("SGLang", name, source)
}

pub(super) const ROWS: &[Behaviour] = &[
    row("sglang-abort", "https://github.com/radixark/miles/pull/3337")
        .answers(
            200,
            completion!(
                r#""content":"""#,
                r#""abort""#,
                r#","usage":{"prompt_tokens":4,"completion_tokens":0,"total_tokens":4,"prompt_tokens_details":null}"#
            ),
        )
        .becomes_saying(RetriedUncounted, "abort"),
    row("sglang-never-answers", "https://github.com/sgl-project/sglang/issues/33858")
        .acts(Fault::Hang)
        .becomes(TimedOut),
    row("sglang-queue-full", "https://github.com/traycerai/traycer/issues/917")
        .answers(503, r#"{"object":"error","message":"The request queue is full.","code":503}"#)
        .becomes_saying(Waits(None), "The request queue is full."),
    row("sglang-flat-error", "https://github.com/QwenLM/Qwen3/issues/1321")
        .answers(400, r#"{"object":"error","message":"The input (61709 tokens) is longer than the model's context length (40960 tokens).","type":"BadRequestError","param":null,"code":400}"#)
        .becomes_saying(FailsAtOnce, "The input (61709 tokens) is longer than the model's context length (40960 tokens)."),
    row(
        "sglang-internal-error",
        "https://github.com/sgl-project/sglang/blob/012bcb5f/python/sglang/srt/entrypoints/openai/serving_base.py",
    )
    .answers(500, r#"{"object":"error","message":"Internal server error: 'NoneType' object is not iterable","type":"InternalServerError","param":null,"code":500}"#)
    .becomes_saying(Retried, "Internal server error: 'NoneType' object is not iterable"),
    row("sglang-no-workers", "https://github.com/sgl-project/sglang/issues/25811")
        .answers(503, r#"{"error":{"type":"Service Unavailable","code":"no_available_workers","message":"No available workers (all circuits open or unhealthy)"}}"#)
        .becomes_saying(Waits(None), "No available workers (all circuits open or unhealthy)"),
    row("sglang-broken-workers-as-404", "https://github.com/sgl-project/sglang/pull/15611")
        .answers(404, r#"{"error":{"code":"model_not_found"}}"#)
        .becomes_saying(Retried, "model_not_found"),
    row("sglang-nan-logprobs", "https://github.com/sgl-project/sglang/issues/5984")
        .answers(500, "Internal Server Error")
        .with(&[("content-type", "text/plain; charset=utf-8")])
        .becomes_saying(Retried, "Internal Server Error"),
    row("sglang-grammar-crash", "https://github.com/sgl-project/sglang/issues/7903")
        .acts(Fault::ResetBeforeHeaders)
        .becomes(Retried),
    row("sglang-no-text-at-limit", "https://github.com/sgl-project/sglang/issues/23341")
        .answers(
            200,
            completion!(
                r#""content":"","reasoning_content":null,"tool_calls":null"#,
                r#""stop","matched_stop":null"#
            ),
        ),
    row("sglang-empty-finish-reason", "https://github.com/sgl-project/sglang/issues/3912")
        .answers(200, "data: {\"id\":\"b2946a\",\"object\":\"chat.completion.chunk\",\"created\":1740634121,\"model\":\"theirs\",\"choices\":[{\"index\":0,\"delta\":{\"role\":null,\"content\":\"Once\",\"tool_calls\":null},\"logprobs\":null,\"finish_reason\":\"\",\"matched_stop\":null}],\"usage\":null}\n\ndata: [DONE]\n\n")
        .with(&[("content-type", "text/event-stream")])
        .becomes(NoUsage),
];
