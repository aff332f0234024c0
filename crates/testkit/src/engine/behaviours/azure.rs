//! Azure OpenAI and the gateways of Azure.

use super::Behaviour;
use super::Outcome::{Completed, FailsAtOnce, Retried, Waits};
use super::bodies::completion;

const fn row(name: &'static str, source: &'static str) -> Behaviour {
    Behaviour::of("Azure", name, source)
}

pub(super) const ROWS: &[Behaviour] = &[
    row("azure-prompt-filtered", "https://github.com/compl-ai/compl-ai/issues/20")
        .answers(400, r#"{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry.","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":{"hate":{"filtered":false,"severity":"safe"},"jailbreak":{"filtered":true,"detected":true}}}}}"#)
        .becomes_saying(FailsAtOnce, "The response was filtered due to the prompt triggering"),
    row("azure-result-filtered", "https://github.com/microsoft/semantic-kernel/issues/5240")
        .answers(200, r#"{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"gpt-35-turbo","prompt_filter_results":[{"prompt_index":0,"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}}}],"choices":[{"finish_reason":"content_filter","index":0,"message":{"role":"assistant"}}],"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11}}"#)
        .becomes_saying(Completed, "content_filter"),
    row("azure-filter-failed", "https://github.com/RageAgainstThePixel/OpenAI-DotNet/issues/274")
        .answers(
            200,
            completion!(
                r#""content":"Once upon""#,
                r#""stop","content_filter_result":{"error":{"code":"content_filter_error","message":"The contents are not filtered"}}"#
            ),
        )
        .becomes_saying(Completed, "Once upon"),
    row("azure-retry-after", "https://github.com/icereed/paperless-gpt/issues/814")
        .answers(429, r#"{"error":{"code":"RateLimitReached","message":"Your requests to gpt-4.1-nano for gpt-4.1-nano in Sweden Central have exceeded the token rate limit for your current AIServices S0 pricing tier. Please retry after 45 seconds."}}"#)
        .with(&[("retry-after", "45")])
        .becomes_saying(Waits(Some(45_000)), "Please retry after 45 seconds."),
    row(
        "azure-retry-after-ms",
        "https://github.com/simonkurtz-MSFT/python-openai-loadbalancer/issues/14",
    )
    .answers(429, r#"{"error":{"code":"429","message":"Rate limit is exceeded."}}"#)
    .with(&[("retry-after", "2"), ("retry-after-ms", "1250")])
    .becomes_saying(Waits(Some(1_250)), "Rate limit is exceeded."),
    row("azure-requests-remain", "https://github.com/microsoft/copilot-camp/issues/551")
        .answers(429, r#"{"error":{"code":"429","message": "Rate limit is exceeded. Try again in 2 seconds."}}"#)
        .with(&[
            ("x-ratelimit-limit-requests", "8"),
            ("x-ratelimit-remaining-requests", "7"),
            ("x-ratelimit-remaining-tokens", "1014"),
            ("x-envoy-upstream-service-time", "68"),
        ])
        .becomes_saying(Waits(Some(2_000)), "Rate limit is exceeded. Try again in 2 seconds."),
    row("azure-peak-load", "https://github.com/pollinations/pollinations/issues/6260")
        .answers(429, r#"{"success":false,"error":{"message":"azure-openai error: The system is currently experiencing high demand and cannot process your request. Your request exceeds the maximum usage size allowed during peak load. Please retry after 20 seconds.","code":"RATE_LIMITED","timestamp":"2025-12-21T01:27:42.111Z"},"status":429}"#)
        .becomes_saying(Waits(Some(20_000)), "Your request exceeds the maximum usage size allowed during peak load."),
    row("azure-missing-deployment", "https://github.com/chatboxai/chatbox/issues/861")
        .answers(404, r#"{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again."}}"#)
        .becomes_saying(Retried, "The API deployment for this resource does not exist."),
    row("azure-missing-key", "https://github.com/Azure-Samples/openai-apim-lb/issues/31")
        .answers(401, r#"{ "statusCode": 401, "message": "Access denied due to missing subscription key. Make sure to include subscription key when making requests to an API." }"#)
        .becomes_saying(Retried, "Access denied due to missing subscription key."),
    row("azure-byte-order-mark", "https://github.com/psf/requests/pull/4976")
        .answers(200, concat!("\u{feff}", completion!(r#""content":"Once upon""#, r#""stop""#)))
        .becomes_saying(Completed, "Once upon"),
];
