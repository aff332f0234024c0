//! Other hosted APIs.

use super::Behaviour;
use super::Outcome::{
    Completed, CompletedWithWarning, FailsAtOnce, NoUsage, PausesIfEveryRequest, Retried, RetriedUncounted,
    Unreadable, Waits,
};
use super::bodies::completion;

pub(super) const ROWS: &[Behaviour] = &[
    Behaviour::of(
        "Anthropic",
        "anthropic-overloaded",
        "https://github.com/anthropics/anthropic-sdk-typescript/issues/616",
    )
    .answers(529, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#)
    .with(&[("content-type", "application/json"), ("x-should-retry", "true"), ("server", "cloudflare")])
    .becomes_saying(Retried, "Overloaded"),
    Behaviour::of(
        "Anthropic",
        "anthropic-extra-usage",
        "https://github.com/NousResearch/hermes-agent/issues/31668",
    )
    .answers(400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"Third-party apps now draw from your extra usage, not your plan limits."},"request_id":"req_011"}"#)
    .becomes_saying(PausesIfEveryRequest, "Third-party apps now draw from your extra usage, not your plan limits."),
    Behaviour::of(
        "DeepSeek",
        "deepseek-insufficient-resource",
        "https://github.com/genkit-ai/genkit/pull/6259",
    )
    .answers(200, completion!(r#""content":"Once upon""#, r#""insufficient_system_resource""#))
    .becomes_saying(RetriedUncounted, "insufficient_system_resource"),
    Behaviour::of(
        "DeepSeek",
        "deepseek-blank-lines-then-answer",
        "https://api-docs.deepseek.com/quick_start/rate_limit",
    )
    .answers(200, concat!("\n\n\n\n", completion!(r#""content":"Once upon""#, r#""stop""#)))
    .becomes_saying(Completed, "Once upon"),
    Behaviour::of(
        "DeepSeek",
        "deepseek-blank-lines-only",
        "https://api-docs.deepseek.com/quick_start/rate_limit",
    )
    .answers(200, "\n\n\n\n")
    .becomes_saying(Unreadable, "the engine's answer is empty"),
    Behaviour::of("Gemini", "gemini-list-of-errors", "https://github.com/google-gemini/gemini-cli/issues/10925")
        .answers(429, r#"[{"error":{"code":429,"message":"Quota exceeded for quota metric 'Gemini 2.5 Pro Requests' and limit 'Gemini 2.5 Pro Requests per day per user per tier'","errors":[{"message":"Quota exceeded for quota metric 'Gemini 2.5 Pro Requests'","reason":"rateLimitExceeded"}],"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","metadata":{"quota_limit":"Gemini25ProRequestsPerDay"}}]}}]"#)
        .becomes_saying(Waits(None), "Quota exceeded for quota metric 'Gemini 2.5 Pro Requests'"),
    Behaviour::of("Gemini", "gemini-no-message", "https://github.com/modelscope/evalscope/pull/1432")
        .answers(200, r#"{"id":"1","object":"chat.completion","created":1700000000,"model":"theirs","choices":[{"finish_reason":"length","index":0}],"usage":{"prompt_tokens":7180,"total_tokens":7193,"completion_tokens_details":{"reasoning_tokens":13}}}"#)
        .becomes_saying(CompletedWithWarning("result_body.choices.message.content"), r#""completion_tokens":13"#),
    Behaviour::of("Gemini", "gemini-no-completion-tokens", "https://github.com/agentgateway/agentgateway/pull/1465")
        .answers(
            200,
            completion!(
                r#""content":"Once upon""#,
                r#""stop""#,
                r#","usage":{"prompt_tokens":9,"total_tokens":11}"#
            ),
        )
        .becomes_saying(Completed, r#""completion_tokens":2"#),
    Behaviour::of(
        "Hugging Face",
        "easyllm-fractional-tokens",
        "https://github.com/philschmid/easyllm/pull/42",
    )
    .answers(
        200,
        completion!(
            r#""content":"Once upon""#,
            r#""stop""#,
            r#","usage":{"prompt_tokens":9,"completion_tokens":37.25,"total_tokens":46.25}"#
        ),
    )
    .becomes_saying(NoUsage, "completion_tokens is 37.25"),
    Behaviour::of("Mistral", "mistral-object-as-message", "https://github.com/nomtek/mistralai_client_dart/issues/44")
        .answers(422, r#"{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","messages",0,"user","name"],"msg":"Extra inputs are not permitted","input":null}]},"type":"invalid_request_error","param":null,"code":null}"#)
        .becomes_saying(FailsAtOnce, "body.messages.0.user.name: Extra inputs are not permitted"),
    Behaviour::of("NVIDIA NIM", "nim-repeated-key", "https://github.com/tinyhumansai/openhuman/issues/4204")
        .answers(
            200,
            completion!(
                r#""content":"Once upon","reasoning_content":null,"reasoning_content":"They ask for a tale.""#,
                r#""stop""#
            ),
        )
        .becomes_saying(CompletedWithWarning("result_body"), "repeated key"),
    Behaviour::of("NVIDIA NIM", "nim-status-and-title", "https://github.com/NousResearch/hermes-agent/issues/69802")
        .answers(429, r#"{"status":429,"title":"Too Many Requests"}"#)
        .becomes_saying(Waits(None), "Too Many Requests"),
    Behaviour::of("xAI", "xai-text-as-error", "https://github.com/continuedev/continue/issues/10740")
        .answers(429, r#""Your team c03b3526 has either used all available credits or reached its monthly spending limit. To continue making API requests, please purchase more credits or raise your spending limit.""#)
        .becomes_saying(Waits(None), "has either used all available credits or reached its monthly spending limit."),
    Behaviour::of("Z.ai", "zai-network-error", "https://github.com/gethouston/houston/pull/1211")
        .answers(200, completion!(r#""content":"Once upon""#, r#""network_error""#))
        .becomes_saying(RetriedUncounted, "network_error"),
];
