//! Rules of the top-level fields that only chat completions have.

use crate::bodies::{Path, Review};
use crate::faults::codes;
use crate::json::{Json, RawObject};

pub(super) const BOOLEANS: [&str; 2] = ["logprobs", "stream"];

/// Fields that are read here, so they must not be hidden behind another spelling.
pub(super) const READ: [&str; 16] = [
    "model",
    "messages",
    "max_tokens",
    "max_completion_tokens",
    "n",
    "temperature",
    "top_p",
    "frequency_penalty",
    "presence_penalty",
    "logprobs",
    "top_logprobs",
    "response_format",
    "stream",
    "stream_options",
    "tools",
    "modalities",
];

/// Arguments of the chat template that would replace it or its result.
const REFUSED_TEMPLATE_ARGUMENTS: [&str; 2] = ["chat_template", "tokenize"];

/// Log probabilities with each token of the answer.
pub(super) fn read_logprobs(review: &mut Review<'_>, body: &RawObject<'_>, path: &Path<'_>) -> u32 {
    let top =
        body.get_some("top_logprobs").map_or(Some(0), |value| value.as_integer_text()?.parse::<u32>().ok());
    if top.is_none() {
        review.fault(&path.member("top_logprobs"), codes::WRONG_TYPE, "must be an integer of at least 0");
    }
    match body.get_some("logprobs").map(|value| value.as_str()) {
        Some("true") => top.unwrap_or(0).saturating_add(1),
        _ => 0,
    }
}

pub(super) fn check_response_format(review: &mut Review<'_>, body: &RawObject<'_>, path: &Path<'_>) {
    let Some(value) = body.get_some("response_format") else { return };
    let path = path.member("response_format");
    let Some(format) = review.object(value, &path) else { return };
    if let Some(kind) = review.required(&format, &path, "type") {
        review.expect_string(kind, &path.member("type"));
    }
}

pub(super) fn check_template_arguments(review: &mut Review<'_>, body: &RawObject<'_>, path: &Path<'_>) {
    let Some(arguments) = body.get("chat_template_kwargs").and_then(Json::to_object) else { return };
    let path = path.member("chat_template_kwargs");
    for key in REFUSED_TEMPLATE_ARGUMENTS {
        if arguments.get_some(key).is_some() {
            review.fault(&path.member(key), codes::NOT_ALLOWED, "replaces the model's own template");
        }
    }
}
