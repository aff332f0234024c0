//! OpenAI.

use super::Behaviour;
use super::Outcome::{
    CompletedByOtherName, CompletedWithWarning, FailsAtOnce, NoUsage, Retried, Unreadable, Waits,
};
use super::bodies::completion;

const fn row(name: &'static str, source: &'static str) -> Behaviour {
    Behaviour::of("OpenAI", name, source)
}

const LIMIT: &str =
    r#"{"error":{"message":"Rate limit reached","type":"tokens","param":null,"code":"rate_limit_exceeded"}}"#;

pub(super) const ROWS: &[Behaviour] = &[
    row("openai-refuses-max-tokens", "https://github.com/FoundationAgents/OpenManus/issues/555")
        .answers(400, r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}"#)
        .refuses("max_tokens")
        .becomes(CompletedByOtherName),
    row("openai-refuses-temperature", "https://github.com/appatalks/eva-agent/issues/83")
        .answers(400, r#"{"error":{"message":"Unsupported parameter: 'temperature' is not supported with this model.","type":"invalid_request_error","param":"temperature","code":"unsupported_parameter"}}"#)
        .becomes_saying(FailsAtOnce, "Unsupported parameter: 'temperature' is not supported with this model."),
    row("openai-request-too-large", "https://github.com/continuedev/continue/issues/10602")
        .answers(429, r#"{"error":{"message":"Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 61337. The input or output tokens must be reduced in order to run successfully.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}"#)
        .becomes_saying(FailsAtOnce, "Request too large for gpt-4o"),
    row("openai-no-credit", "https://github.com/OpenHands/OpenHands/issues/998")
        .answers(429, r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#)
        .becomes_saying(Waits(None), "You exceeded your current quota, please check your plan and billing details."),
    row("openai-overloaded", "https://github.com/waylaidwanderer/node-chatgpt-api/issues/34")
        .answers(503, r#"{"error":{"message":"That model is currently overloaded with other requests. You can retry your request, or contact us through our help center","type":"server_error","param":null,"code":null}}"#)
        .becomes_saying(Waits(None), "That model is currently overloaded with other requests."),
    row("openai-overloaded-with-409", "https://github.com/ellie-assist/ellie/issues/26")
        .answers(409, "")
        .becomes_saying(Retried, "Conflict"),
    row("openai-no-finish-reason", "https://github.com/openai/openai-openapi/pull/20")
        .answers(200, completion!(r#""content":"Once upon""#, "null"))
        .becomes_saying(CompletedWithWarning("result_body.choices.finish_reason"), "Once upon"),
    row("openai-negative-tokens", "https://github.com/64bit/async-openai/issues/404")
        .answers(
            200,
            completion!(
                r#""content":"Once upon""#,
                r#""stop""#,
                r#","usage":{"prompt_tokens":1151,"completion_tokens":-35,"total_tokens":1116}"#
            ),
        )
        .becomes_saying(NoUsage, "completion_tokens is -35"),
    row("openai-retry-after-negative", "https://github.com/openai/openai-java/pull/878")
        .answers(429, LIMIT)
        .with(&[("retry-after", "-1"), ("retry-after-ms", "-1")])
        .becomes_saying(Waits(None), "Rate limit reached"),
    row("openai-retry-after-past-date", "https://github.com/openai/openai-java/pull/878")
        .answers(429, LIMIT)
        .with(&[("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT")])
        .becomes_saying(Waits(Some(0)), "Rate limit reached"),
    row("openai-reset-headers", "https://platform.openai.com/docs/guides/rate-limits")
        .answers(429, LIMIT)
        .with(&[
            ("x-ratelimit-limit-requests", "60"),
            ("x-ratelimit-limit-tokens", "150000"),
            ("x-ratelimit-remaining-requests", "59"),
            ("x-ratelimit-remaining-tokens", "0"),
            ("x-ratelimit-reset-requests", "1s"),
            ("x-ratelimit-reset-tokens", "6m0s"),
        ])
        .becomes_saying(Waits(Some(360_000)), "Rate limit reached"),
    row("openai-brotli", "https://github.com/ChatGPTNextWeb/NextChat/pull/3215")
        .answers_bytes(200, b"\x0b\x02\x80Once\x03")
        .with(&[("content-type", "application/json"), ("content-encoding", "br")])
        .becomes_saying(Unreadable, "the encoding `br`"),
    row("openai-page-without-v1", "https://github.com/tsundereraws/aisub-translator/issues/2")
        .answers(404, "<html>\r\n<head><title>404 Not Found</title></head>\r\n<body>\r\n<center><h1>404 Not Found</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n")
        .with(&[("content-type", "text/html")])
        .becomes_saying(Retried, "404 Not Found"),
    row("openai-context-exceeded", "https://github.com/mckaywrigley/chatbot-ui/issues/102")
        .answers(400, r#"{"error":{"message":"This model's maximum context length is 4097 tokens. However, you requested 4120 tokens (3120 in the messages, 1000 in the completion). Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#)
        .becomes_saying(FailsAtOnce, "This model's maximum context length is 4097 tokens."),
    row("openai-country", "https://github.com/home-assistant/core/issues/120072")
        .answers(403, r#"{"error":{"code":"unsupported_country_region_territory","message":"Country, region, or territory not supported","param":null,"type":"request_forbidden"}}"#)
        .becomes_saying(Retried, "Country, region, or territory not supported"),
    row("openai-unknown-model", "https://github.com/Aider-AI/aider/issues/2186")
        .answers(404, r#"{"error":{"message":"The model `gpt-4o` does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}"#)
        .becomes_saying(Retried, "The model `gpt-4o` does not exist or you do not have access to it."),
];
