//! Groq.

use super::Behaviour;
use super::Outcome::{FailsAtOnce, PausesIfEveryRequest, Retried, Unlucky, Waits};

const fn row(name: &'static str, source: &'static str) -> Behaviour {
    Behaviour::of("Groq", name, source)
}

pub(super) const ROWS: &[Behaviour] = &[
    row("groq-request-too-large", "https://github.com/cottongeeks/podscript/issues/20")
        .answers(413, r#"{"error":{"message":"Request too large for model `llama-3.3-70b-versatile` in organization `org_1` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 10338, please reduce your message size and try again.","type":"tokens","code":"rate_limit_exceeded"}}"#)
        .becomes_saying(FailsAtOnce, "Limit 6000, Requested 10338, please reduce your message size and try again."),
    row("groq-limit-in-sentence", "https://github.com/elizaOS/eliza/issues/4040")
        .answers(429, r#"{"error":{"message":"Rate limit reached for model `llama-3.1-8b-instant` in organization `org_1` on tokens per minute (TPM): Limit 6000, Used 5034, Requested 1443. Please try again in 4.77s.","type":"tokens","code":"rate_limit_exceeded"}}"#)
        .becomes_saying(Waits(Some(4_770)), "Please try again in 4.77s."),
    row("groq-no-function-call", "https://github.com/groq/groq-typescript/issues/28")
        .answers(400, r#"{"error":{"message":"Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"<function=write>"}}"#)
        .with(&[("x-ratelimit-reset-requests", "6s"), ("x-ratelimit-reset-tokens", "1.57s")])
        .becomes_saying(Unlucky, "Failed to call a function."),
    row("groq-no-json", "https://github.com/build-with-groq/g1/pull/23")
        .answers(400, r#"{"error":{"message":"Failed to generate JSON. Please adjust your prompt. See 'failed_generation' for more details.","type":"invalid_request_error","code":"json_validate_failed","failed_generation":"```json\n{"}}"#)
        .becomes_saying(Unlucky, "Failed to generate JSON."),
    row(
        "groq-capacity-exceeded",
        "https://www.developersdigest.tech/errors/api/groq-api/498-flex-tier-capacity-exceeded",
    )
    .answers(498, r#"{"error":{"message":"Flex Tier Capacity Exceeded","code":"capacity_exceeded"}}"#)
    .becomes_saying(Retried, "Flex Tier Capacity Exceeded"),
    row("groq-retired-model", "https://github.com/angerman/llm-groq/issues/17")
        .answers(400, r#"{"error":{"message":"The model `gemma-7b-it` has been decommissioned and is no longer supported. Please refer to https://console.groq.com/docs/deprecations for a recommendation on which model to use instead.","type":"invalid_request_error","code":"model_decommissioned"}}"#)
        .becomes_saying(PausesIfEveryRequest, "The model `gemma-7b-it` has been decommissioned and is no longer supported."),
    row("groq-organization-restricted", "https://github.com/songquanpeng/one-api/issues/1764")
        .answers(400, r#"{"request_id":"req_01kj","created_at":"2026-02-27T07:37:56.926Z","error":{"message":"Organization has been restricted. Please reach out to support if you believe this was in error.","type":"invalid_request_error","param":"","code":"organization_restricted"}}"#)
        .becomes_saying(PausesIfEveryRequest, "Organization has been restricted."),
    row("groq-daily-limit", "https://github.com/continuedev/continue/issues/10920")
        .answers(429, r#"{"error":{"message":"Rate limit reached for model `llama-3.3-70b-versatile` in organization `org_1` service tier `on_demand` on tokens per day (TPD): Limit 100000, Used 97050, Requested 3619. Please try again in 9m38.016s. Need more tokens? Upgrade to Dev Tier today","type":"tokens","code":"rate_limit_exceeded"}}"#)
        .becomes_saying(Waits(Some(578_016)), "Please try again in 9m38.016s."),
    row("groq-context-exceeded", "https://github.com/thepersonalaicompany/amurex-backend/issues/51")
        .answers(400, r#"{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#)
        .becomes_saying(FailsAtOnce, "Please reduce the length of the messages or completion."),
    row("groq-refuses-parts", "https://github.com/microsoft/PyRIT/issues/704")
        .answers(400, r#"{"error":{"message":"'messages.0.content' must be a string","type":"invalid_request_error"}}"#)
        .becomes_saying(FailsAtOnce, "'messages.0.content' must be a string"),
];
