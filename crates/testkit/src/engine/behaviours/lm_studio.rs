//! LM Studio.

use super::Behaviour;
use super::Outcome::{Completed, FailsAtOnce, PausesIfEveryRequest, Retried, Unreadable};
use super::bodies::completion;

const fn row(name: &'static str, source: &'static str) -> Behaviour {
    Behaviour::of("LM Studio", name, source)
}

pub(super) const ROWS: &[Behaviour] = &[
    row(
        "lm-studio-wrong-path-with-200",
        "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/618",
    )
    .answers(200, r#"{"error":"Unexpected endpoint or method. (POST /chat/completions)"}"#)
    .becomes_saying(Retried, "Unexpected endpoint or method. (POST /chat/completions)"),
    row(
        "lm-studio-context-exceeded-with-200",
        "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/2322",
    )
    .answers(200, r#"{"error":"Context size has been exceeded."}"#)
    .becomes_saying(Retried, "Context size has been exceeded."),
    row("lm-studio-no-choices", "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/266")
        .answers(200, r#"{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"theirs","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":0,"total_tokens":9}}"#)
        .becomes_saying(Unreadable, "it has no choices"),
    row("lm-studio-no-model-loaded", "https://github.com/tinyhumansai/openhuman/issues/4181")
        .answers(400, r#"{"error":{"message":"No models loaded. Please load a model in the developer page or use the `lms load` command.","type":"invalid_request_error","param":"model"}}"#)
        .becomes_saying(PausesIfEveryRequest, "No models loaded. Please load a model"),
    row("lm-studio-load-failure", "https://github.com/continuedev/continue/issues/10150")
        .answers(400, r#"{"error":{"message":"Failed to load model \"gpt-oss-20b\". Error: Error loading model.","type":"invalid_request_error"}}"#)
        .becomes_saying(PausesIfEveryRequest, "Error: Error loading model."),
    row("lm-studio-refuses-json-object", "https://github.com/t59688/arboris-novel/issues/23")
        .answers(400, r#"{"error":"'response_format.type' must be 'json_schema' or 'text'"}"#)
        .becomes_saying(FailsAtOnce, "'response_format.type' must be 'json_schema' or 'text'"),
    row("lm-studio-error-in-error", "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/2218")
        .answers(500, r#"{"error":{"message":"Engine protocol predict request returned 500: {\"error\":{\"code\":500,\"message\":\"\\n------------\\nWhile executing CallExpression at line 46, column 32 in source:\\nError: Jinja Exception: After the optional system message, conversation roles must alternate\"}}"}}"#)
        .becomes_saying(Retried, "Jinja Exception: After the optional system message, conversation roles must alternate"),
    row(
        "lm-studio-no-text",
        "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/2339",
    )
    .answers(200, completion!(r#""content":"","tool_calls":[]"#, r#""stop""#))
    .becomes(Completed),
    row("lm-studio-context-exceeded", "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/237")
        .answers(400, r#"{"error":"Trying to keep the first 15857 tokens when context the overflows. However, the model is loaded with context length of only 7866 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input"}"#)
        .becomes_saying(FailsAtOnce, "the model is loaded with context length of only 7866 tokens"),
    row(
        "lm-studio-json-as-reasoning",
        "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1773",
    )
    .answers(200, completion!(r#""content":"","reasoning_content":"{\"city\":\"Paris\"}","tool_calls":[]"#, r#""stop""#))
    .becomes_saying(Completed, "Paris"),
    row("lm-studio-empty-call-id", "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/830")
        .answers(200, completion!(r#""content":"","tool_calls":[{"id":"","type":"function","function":{"name":"count","arguments":"{}"}}]"#, r#""tool_calls""#))
        .becomes(Completed),
];
