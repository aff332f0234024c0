//! vLLM.

use super::Behaviour;
use super::Outcome::{
    Completed, CompletedByOtherName, CompletedWithWarning, FailsAtOnce, Retried, RetriedUncounted, Unlucky,
};
use super::bodies::completion;
use crate::engine::Fault;

const fn row(name: &'static str, source: &'static str) -> Behaviour {
    Behaviour::of("vLLM", name, source)
}

pub(super) const ROWS: &[Behaviour] = &[
    row("vllm-abort", "https://github.com/vllm-project/vllm/issues/57082")
        .answers(200, completion!(r#""content":"Once upon""#, r#""abort""#))
        .becomes_saying(RetriedUncounted, "abort"),
    row("vllm-dead-engine", "https://github.com/vllm-project/vllm/issues/42362")
        .answers(500, "Internal Server Error")
        .with(&[("content-type", "text/plain; charset=utf-8")])
        .becomes_saying(Retried, "Internal Server Error"),
    row("vllm-dies-after-headers", "https://github.com/vllm-project/vllm-metal/issues/112")
        .acts(Fault::ResetAfterHeaders)
        .becomes(Retried),
    row("vllm-closes-idle-connection", "https://github.com/llm-d/llm-d/pull/1564")
        .acts(Fault::ResetBeforeHeaders)
        .becomes(Retried),
    row(
        "vllm-cut-tool-arguments",
        "https://github.com/MiaAI-Lab/DeepSeek-v4-Flash-DSpark-2x-DGX-Spark/issues/55",
    )
    .answers(
        200,
        completion!(
            r#""content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"write","arguments":"{\"text\": \"Once upon"}}]"#,
            r#""tool_calls""#
        ),
    )
    .becomes_saying(CompletedWithWarning("result_body.choices.message.tool_calls"), "not JSON"),
    row("vllm-nan-logprobs", "https://github.com/vllm-project/vllm/issues/10234")
        .answers(500, "Internal Server Error")
        .with(&[("content-type", "text/plain; charset=utf-8")])
        .becomes_saying(Retried, "Internal Server Error"),
    row("vllm-null-content", "https://github.com/vllm-project/vllm/issues/45736")
        .answers(200, completion!(r#""content":null,"reasoning":"They ask for a tale.""#, r#""stop""#))
        .becomes_saying(Completed, "They ask for a tale."),
    row("vllm-unfinished-reasoning", "https://github.com/1CatAI/1Cat-vLLM/pull/47")
        .answers(200, completion!(r#""content":"""#, r#""length""#))
        .becomes(Completed),
    row("vllm-flat-error", "https://github.com/THUDM/LongBench/issues/104")
        .answers(400, r#"{"object":"error","message":"This model's maximum context length is 131072 tokens. However, you requested 351430 tokens. Please reduce the length of the messages or completion.","type":"BadRequestError","param":null,"code":400}"#)
        .becomes_saying(FailsAtOnce, "This model's maximum context length is 131072 tokens."),
    row("vllm-python-list-as-message", "https://github.com/vllm-project/vllm/pull/10463")
        .answers(400, r#"{"object":"error","message":"[{'type': 'extra_forbidden', 'loc': ('body', 'messages', 0, 'typed-dict', 'id'), 'msg': 'Extra inputs are not permitted', 'input': 1947269257}]","type":"BadRequestError","param":null,"code":400}"#)
        .becomes_saying(FailsAtOnce, "'msg': 'Extra inputs are not permitted'"),
    row(
        "vllm-not-implemented",
        "https://github.com/vllm-project/vllm/blob/1c6ebf2c/vllm/entrypoints/serve/utils/error_response.py",
    )
    .answers(501, r#"{"error":{"message":"Tool usage is not supported","type":"NotImplementedError","param":null,"code":501}}"#)
    .becomes_saying(FailsAtOnce, "Tool usage is not supported"),
    row("vllm-already-borrowed", "https://github.com/vllm-project/vllm/pull/30264")
        .answers(400, r#"{"error":{"message":"Already borrowed","type":"BadRequestError","param":null,"code":400}}"#)
        .becomes_saying(Unlucky, "Already borrowed"),
    row("vllm-refuses-max-completion-tokens", "https://github.com/voideditor/void/issues/128")
        .answers(400, r#"{"object":"error","message":"[{'type': 'extra_forbidden', 'loc': ('body', 'max_completion_tokens'), 'msg': 'Extra inputs are not permitted', 'input': 8192}]","type":"BadRequestError","param":null,"code":400}"#)
        .refuses("max_completion_tokens")
        .becomes(CompletedByOtherName),
];
