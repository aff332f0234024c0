//! The top-level fields of a body, one rule each.

use super::path::Path;
use super::refused;
use super::review::{Review, fold};
use crate::faults::codes;
use crate::json::{Json, Kind, RawObject};

/// The most completions of one request.
const N_MAX: u32 = 128;

/// The largest output limit that every engine's integer type holds.
const MAX_TOKENS_MAX: u32 = i32::MAX as u32;

const NUMBERS: [(&str, f64, f64); 4] = [
    ("temperature", 0.0, 2.0),
    ("top_p", 0.0, 1.0),
    ("frequency_penalty", -2.0, 2.0),
    ("presence_penalty", -2.0, 2.0),
];

const BOOLEANS: [&str; 2] = ["logprobs", "stream"];

/// The fields that are read here, and so must not be hidden behind another spelling.
const READ: [&str; 14] = [
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
];

/// Arguments of the chat template that would replace it or its result.
const REFUSED_TEMPLATE_ARGUMENTS: [&str; 2] = ["chat_template", "tokenize"];

/// Refuses the fields that are not passed on, and look-alikes of those and of the ones read here.
pub(super) fn check_names(review: &mut Review<'_>, body: &RawObject<'_>, path: &Path<'_>) {
    for (key, value) in body.members() {
        if let Some(field) = refused::find(key) {
            let is_allowed =
                value.is_null() || review.limits.allow_fields.iter().any(|name| name == field.name);
            if !is_allowed {
                let message = format_args!(
                    "is not passed on, because it {}; the operator may allow it in limits.allow_fields",
                    field.reason
                );
                review.fault(&path.member(key), codes::NOT_ALLOWED, message);
            }
        } else if let Some(folded) = fold(key)
            && (READ.contains(&folded.as_str()) || refused::find(&folded).is_some())
        {
            review.refuse_spelling(&path.member(key), &folded);
        }
    }
}

/// The model's name, which must be there and not empty.
pub(super) fn read_model(review: &mut Review<'_>, body: &RawObject<'_>, path: &Path<'_>) -> String {
    let Some(value) = review.required(body, path, "model") else { return String::new() };
    let path = path.member("model");
    if !review.expect_string(value, &path) {
        return String::new();
    }
    let model = value.decode_string().unwrap_or_default().into_owned();
    if model.is_empty() {
        review.fault(&path, codes::OUT_OF_RANGE, "must not be empty");
    }
    model
}

/// The explicit output limit, under either of its names.
pub(super) fn read_max_tokens(review: &mut Review<'_>, body: &RawObject<'_>, path: &Path<'_>) -> Option<u32> {
    let limit = read_integer(review, body, path, "max_tokens", MAX_TOKENS_MAX);
    let synonym = read_integer(review, body, path, "max_completion_tokens", MAX_TOKENS_MAX);
    if let (Some(limit), Some(synonym)) = (limit, synonym)
        && limit != synonym
    {
        let message = format_args!("means the same as max_tokens, which is {limit} and not {synonym}");
        review.fault(&path.member("max_completion_tokens"), codes::CONFLICT, message);
    }
    limit.or(synonym)
}

/// How many completions are asked for.
pub(super) fn read_n(review: &mut Review<'_>, body: &RawObject<'_>, path: &Path<'_>) -> u32 {
    read_integer(review, body, path, "n", N_MAX).unwrap_or(1)
}

/// How many log probabilities each token of the answer comes with.
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

/// Checks the types and bounds of the other documented fields.
pub(super) fn check_scalars(review: &mut Review<'_>, body: &RawObject<'_>, path: &Path<'_>) {
    for (key, low, high) in NUMBERS {
        let Some(value) = body.get_some(key) else { continue };
        match value.as_f64() {
            None => review.fault(&path.member(key), codes::WRONG_TYPE, "must be a number"),
            Some(number) if number < low || number > high => {
                let message = format_args!("must be between {low} and {high}");
                review.fault(&path.member(key), codes::OUT_OF_RANGE, message);
            }
            Some(_) => {}
        }
    }
    for key in BOOLEANS {
        if body.get_some(key).is_some_and(|value| value.kind() != Kind::Boolean) {
            review.fault(&path.member(key), codes::WRONG_TYPE, "must be true or false");
        }
    }
}

/// Checks `response_format` as far as it is documented.
pub(super) fn check_response_format(review: &mut Review<'_>, body: &RawObject<'_>, path: &Path<'_>) {
    let Some(value) = body.get_some("response_format") else { return };
    let path = path.member("response_format");
    let Some(format) = review.object(value, &path) else { return };
    if let Some(kind) = review.required(&format, &path, "type") {
        review.expect_string(kind, &path.member("type"));
    }
}

/// Refuses template arguments that would put another template in the model's place.
pub(super) fn check_template_arguments(review: &mut Review<'_>, body: &RawObject<'_>, path: &Path<'_>) {
    let Some(arguments) = body.get("chat_template_kwargs").and_then(Json::to_object) else { return };
    let path = path.member("chat_template_kwargs");
    for key in REFUSED_TEMPLATE_ARGUMENTS {
        if arguments.get_some(key).is_some() {
            review.fault(&path.member(key), codes::NOT_ALLOWED, "replaces the model's own template");
        }
    }
}

/// An optional integer from 1 to `high`, spelt as one: `1.0` and `1e2` are refused, as engines read them differently.
fn read_integer(
    review: &mut Review<'_>,
    body: &RawObject<'_>,
    path: &Path<'_>,
    key: &str,
    high: u32,
) -> Option<u32> {
    let value = body.get_some(key)?;
    let Some(text) = value.as_integer_text() else {
        review.fault(&path.member(key), codes::WRONG_TYPE, "must be an integer");
        return None;
    };
    let number = text.parse().ok().filter(|number| (1..=high).contains(number));
    if number.is_none() {
        review.fault(&path.member(key), codes::OUT_OF_RANGE, format_args!("must be between 1 and {high}"));
    }
    number
}
