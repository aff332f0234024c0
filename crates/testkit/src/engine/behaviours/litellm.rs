//! LiteLLM.

use super::Behaviour;
use super::Outcome::{FailsAtOnce, PausesIfEveryRequest, Unreadable, Waits};

const fn row(name: &'static str, source: &'static str) -> Behaviour {
    Behaviour::of("LiteLLM", name, source)
}

pub(super) const ROWS: &[Behaviour] = &[
    row("litellm-error-as-text", "https://github.com/jasonacox/TinyLLM/issues/17")
        .answers(429, r#"{"error":{"message":"litellm.RateLimitError: AzureException RateLimitError - Error code: 429 - {'error': {'code': '429', 'message': 'Requests to the ChatCompletions_Create Operation have exceeded token rate limit. Please retry after 86400 seconds.'}}\nReceived Model Group=azure-gpt-4o-mini\nAvailable Model Group Fallbacks=None","type":"throttling_error","param":null,"code":"429"}}"#)
        .becomes_saying(Waits(Some(86_400_000)), "Please retry after 86400 seconds."),
    row("litellm-no-choices", "https://github.com/BerriAI/litellm/pull/40252")
        .answers(200, r#"{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"theirs","choices":[],"usage":{"prompt_tokens":4241,"completion_tokens":0,"total_tokens":4241}}"#)
        .becomes_saying(Unreadable, "it has no choices"),
    row("litellm-no-deployments", "https://github.com/BerriAI/litellm/pull/5634")
        .answers(429, r#"{"error":{"message":"No deployments available for selected model, Try again in 60 seconds. Passed model=theirs. pre-call-checks=False, cooldown_list=['c9d48646']","type":"None","param":"None","code":"429"}}"#)
        .becomes_saying(Waits(Some(60_000)), "No deployments available for selected model, Try again in 60 seconds."),
    row("litellm-budget-with-400", "https://github.com/BerriAI/litellm/issues/14144")
        .answers(400, r#"{"error":{"message":"Budget has been exceeded! Team=99c7 Current cost: 10.51, Max budget: 10.0","type":"budget_exceeded","param":null,"code":"400"}}"#)
        .becomes_saying(PausesIfEveryRequest, "Budget has been exceeded!"),
    row("litellm-budget-with-429", "https://github.com/BerriAI/litellm/issues/36729")
        .answers(429, r#"{"error":{"message":"Budget has been exceeded! Current cost: 10.51, Max budget: 10.00","type":"budget_exceeded","code":"429"}}"#)
        .becomes_saying(Waits(None), "Budget has been exceeded!"),
    row("litellm-context-exceeded", "https://github.com/BrokkAi/brokk-app/issues/540")
        .answers(400, r#"{"error":{"message":"litellm.BadRequestError: AnthropicException - b'{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"input length and `max_tokens` exceed context limit: 179413 + 32768 > 200000, decrease input length or `max_tokens` and try again\"}}'. Received Model Group=theirs\nAvailable Model Group Fallbacks=None","type":null,"param":null,"code":"400"}}"#)
        .becomes_saying(FailsAtOnce, "input length and `max_tokens` exceed context limit: 179413 + 32768 > 200000"),
];
