//! OpenRouter.

use super::Behaviour;
use super::Outcome::{
    Completed, CompletedWithWarning, PausesIfEveryRequest, Retried, RetriedUncounted, Waits,
};
use super::bodies::completion;

const ERRORS: &str = "https://openrouter.ai/docs/api/reference/errors-and-debugging";

const fn row(name: &'static str, source: &'static str) -> Behaviour {
    Behaviour::of("OpenRouter", name, source)
}

pub(super) const ROWS: &[Behaviour] = &[
    row("openrouter-error-with-200", ERRORS)
        .answers(200, r#"{"error":{"code":502,"message":"Your chosen model is down or we received an invalid response from it"}}"#)
        .becomes_saying(Retried, "Your chosen model is down or we received an invalid response from it"),
    row("openrouter-daily-limit-with-200", "https://github.com/Avarok-Cybersecurity/atlas/pull/543")
        .answers(200, r#"{"error":{"message":"Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day","code":429,"metadata":{"headers":{"X-RateLimit-Limit":"50","X-RateLimit-Remaining":"0","X-RateLimit-Reset":"1741305600000"}}}}"#)
        .becomes_saying(Waits(Some(0)), "Rate limit exceeded: free-models-per-day."),
    row("openrouter-provider-limit", "https://github.com/open-webui/computer/issues/293")
        .answers(429, r#"{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"z-ai/glm-5.3-flash is temporarily rate-limited upstream. Please retry shortly, or add your own key to accumulate your rate limits","provider_name":"BaseTen","limit_source":"upstream_provider_shared_pool"}}}"#)
        .becomes_saying(Waits(None), "z-ai/glm-5.3-flash is temporarily rate-limited upstream."),
    row("openrouter-finish-reason-error", "https://github.com/pydantic/pydantic-ai/issues/2844")
        .answers(200, completion!(r#""content":"Once upon""#, r#""error","native_finish_reason":"MALFORMED_FUNCTION_CALL""#))
        .becomes_saying(RetriedUncounted, "MALFORMED_FUNCTION_CALL"),
    row("openrouter-error-beside-answer", "https://github.com/damianvtran/local-operator/pull/223")
        .answers(
            200,
            completion!(
                r#""content":"Once upon""#,
                r#""error""#,
                r#","error":{"code":502,"message":"Provider disconnected","metadata":{"error_type":"provider_unavailable"}}"#
            ),
        )
        .becomes_saying(RetriedUncounted, "Provider disconnected"),
    row("openrouter-no-credit", "https://github.com/babikov/doka-site/issues/7")
        .answers(402, r#"{"error":{"message":"This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, but can only afford 10114. To increase, visit https://openrouter.ai/settings/credits and upgrade to a paid account","code":402,"metadata":{"provider_name":null}},"user_id":"user_"}"#)
        .becomes_saying(Retried, "This request requires more credits, or fewer max_tokens."),
    row("openrouter-moderation", ERRORS)
        .answers(403, r#"{"error":{"code":403,"message":"Your chosen model requires moderation and your input was flagged"}}"#)
        .becomes_saying(Retried, "Your chosen model requires moderation and your input was flagged"),
    row("openrouter-privacy-settings", "https://github.com/truefoundry/models/pull/826")
        .answers(404, r#"{"status":"failure","message":"openrouter error","error":{"message":"No endpoints available matching your guardrail restrictions and data policy. Configure: https://openrouter.ai/settings/privacy","type":"APIError","code":404}}"#)
        .becomes_saying(Retried, "No endpoints available matching your guardrail restrictions and data policy."),
    row("openrouter-missing-model", "https://github.com/deeterbleater/deertick/issues/13")
        .answers(400, r#"{"error":{"message":"Model meta/meta-llama-3-8b-instruct is not available","code":400},"user_id":"user_2"}"#)
        .becomes_saying(PausesIfEveryRequest, "Model meta/meta-llama-3-8b-instruct is not available"),
    row("openrouter-lone-surrogate", "https://github.com/Kohaku-Lab/KohakuTerrarium/pull/48")
        .answers(200, completion!(r#""content":"Once \udcaf upon""#, r#""stop""#))
        .becomes_saying(CompletedWithWarning("result_body"), "U+FFFD"),
    row("openrouter-blank-lines", "https://github.com/OpenRouterTeam/typescript-sdk/issues/101")
        .answers(200, concat!("\n         \n\n         \n", completion!(r#""content":"Once upon""#, r#""stop""#)))
        .becomes_saying(Completed, "Once upon"),
    row("openrouter-endturn", "https://github.com/zeitlings/ayai-gpt-nexus/issues/2")
        .answers(200, completion!(r#""content":"Once upon""#, r#""endturn""#))
        .becomes_saying(Completed, "Once upon"),
];
