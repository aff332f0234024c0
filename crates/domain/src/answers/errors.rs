//! Errors that engines and gateways report, in all their forms.

use std::borrow::Cow;

use crate::json::{Json, Kind, RawObject, repair};

const DEPTH_MAX: u32 = 6;

/// Errors of a list that a message contains.
const TOLD_MAX: usize = 5;

const MESSAGE_BYTES_MAX: usize = 2_048;

/// Members that may hold a status.
const STATUS_KEYS: [&str; 4] = ["code", "status", "status_code", "http_status_code"];

/// Members that may hold the name of an error.
const NAME_KEYS: [&str; 3] = ["code", "type", "status"];

/// Names of errors, as OpenAI, Anthropic and Google document them, and their statuses.
const NAMES: [(&str, u16); 18] = [
    ("invalid_request_error", 400),
    ("BadRequestError", 400),
    ("context_length_exceeded", 400),
    ("INVALID_ARGUMENT", 400),
    ("invalid_api_key", 401),
    ("authentication_error", 401),
    ("UNAUTHENTICATED", 401),
    ("permission_error", 403),
    ("PERMISSION_DENIED", 403),
    ("model_not_found", 404),
    ("not_found_error", 404),
    ("request_too_large", 413),
    ("rate_limit_exceeded", 429),
    ("rate_limit_error", 429),
    ("insufficient_quota", 429),
    ("RESOURCE_EXHAUSTED", 429),
    ("UNAVAILABLE", 503),
    ("overloaded_error", 529),
];

/// Members that may hold a message or another error, in order of preference.
const MESSAGE_KEYS: [&str; 7] = ["message", "error", "errors", "detail", "msg", "title", "error_description"];

/// An error that an engine reports in a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedError {
    /// From 400 to 599.
    pub status: Option<u16>,
    /// The engine's message.
    pub message: Option<String>,
}

pub(super) fn find_error(body: Json<'_>) -> Option<ReportedError> {
    let first = body.elements().and_then(|mut errors| errors.next());
    let object = first.unwrap_or(body).to_object()?;
    let has = |key: &str| object.get(key).is_some_and(is_reported);
    let is_text = |key: &str| object.get(key).is_some_and(|value| value.kind() == Kind::String);
    let is_error = object.get("object").and_then(Json::decode_string).as_deref() == Some("error");
    let reports = is_error || ["error", "errors", "detail"].iter().any(|key| has(key)) || is_text("message");
    reports.then(|| ReportedError { status: find_status(&object), message: find_message(body) })
}

fn find_status(object: &RawObject<'_>) -> Option<u16> {
    let inner = ["error", "detail"].iter().find_map(|key| object.get(key)?.to_object());
    let objects = || inner.iter().chain([object]);
    let number = |object: &RawObject<'_>| STATUS_KEYS.iter().find_map(|key| read_status(object.get(key)?));
    let name = |object: &RawObject<'_>| NAME_KEYS.iter().find_map(|key| read_name(object.get(key)?));
    objects().find_map(number).or_else(|| objects().find_map(name))
}

fn read_status(value: Json<'_>) -> Option<u16> {
    let text = match value.kind() {
        Kind::Number => Cow::Borrowed(value.as_integer_text()?),
        _ => value.decode_string()?,
    };
    text.trim().parse().ok().filter(|status| (400..=599).contains(status))
}

fn read_name(value: Json<'_>) -> Option<u16> {
    let text = value.decode_string()?;
    NAMES.iter().find(|(name, _)| *name == text).map(|(_, status)| *status)
}

/// Finds the message of an error: in OpenAI's envelope and its relatives, in lists of errors, and in texts that contain JSON. Appends the
/// name of the parameter if the message does not contain it.
pub fn find_message(error: Json<'_>) -> Option<String> {
    let mut message = message_within(error, DEPTH_MAX)?;
    message.truncate(message.floor_char_boundary(MESSAGE_BYTES_MAX));
    Some(message)
}

fn message_within(error: Json<'_>, levels: u32) -> Option<String> {
    let levels = levels.checked_sub(1)?;
    match error.kind() {
        Kind::String => {
            let text = error.decode_string()?;
            let text = text.trim();
            if text.is_empty() { None } else { Some(unfold(text, levels).unwrap_or_else(|| text.to_owned())) }
        }
        Kind::Array => join(error.elements()?.filter_map(|error| message_within(error, levels))),
        Kind::Object => message_of_object(&error.to_object()?, levels),
        Kind::Null | Kind::Boolean | Kind::Number => None,
    }
}

fn message_of_object(error: &RawObject<'_>, levels: u32) -> Option<String> {
    let inner = |key: &str| error.get(key).filter(|value| is_reported(*value));
    // An object has the most specific message; a text in `error` may be the name of the status.
    let nested = ["error", "errors"].into_iter().filter_map(inner).find(|it| it.kind() != Kind::String);
    let keyed = || MESSAGE_KEYS.iter().find_map(|key| message_within(inner(key)?, levels));
    let message = nested.and_then(|nested| match nested.kind() {
        Kind::Object if !has_message(nested) => by_field(nested, levels).or_else(keyed),
        _ => message_within(nested, levels),
    });
    let mut message = message.or_else(keyed)?;
    if let Some(raw) = inner("metadata").and_then(|it| message_within(it.to_object()?.get("raw")?, levels)) {
        message = format!("{message}: {raw}");
    }
    let place = error.get("loc").and_then(Json::elements).map(path_of).filter(|place| !place.is_empty());
    if let Some(place) = place {
        message = format!("{place}: {message}");
    }
    match error.get("param").and_then(Json::decode_string) {
        Some(param) if !param.is_empty() && !message.contains(&*param) => {
            Some(format!("{message} (param {param})"))
        }
        _ => Some(message),
    }
}

fn has_message(error: Json<'_>) -> bool {
    let mut members = error.members().into_iter().flatten();
    members.any(|member| MESSAGE_KEYS.contains(&&*member.key()))
}

/// Errors by the names of fields: `{"temperature": ["must be positive"]}`.
fn by_field(errors: Json<'_>, levels: u32) -> Option<String> {
    let told = errors.members()?.filter(|member| matches!(member.value.kind(), Kind::Array | Kind::Object));
    join(told.filter_map(|it| Some(format!("{}: {}", it.key(), message_within(it.value, levels)?))))
}

/// The path at which FastAPI found the error.
fn path_of<'a>(parts: impl Iterator<Item = Json<'a>>) -> String {
    let parts = parts.map(|part| part.decode_string().unwrap_or(Cow::Borrowed(part.as_str())));
    parts.collect::<Vec<_>>().join(".")
}

fn join(messages: impl Iterator<Item = String>) -> Option<String> {
    let messages: Vec<_> = messages.take(TOLD_MAX).collect();
    if messages.is_empty() { None } else { Some(messages.join("; ")) }
}

/// The message in a text that ends with JSON.
fn unfold(text: &str, levels: u32) -> Option<String> {
    let at = if text.starts_with('[') { 0 } else { text.find('{')? };
    let (before, json) = text.split_at(at);
    let inner = repair(json.as_bytes()).ok()?.text;
    Some(format!("{before}{}", message_within(inner.as_json(), levels)?))
}

/// Whether a member such as `error` reports an error: many engines always send it, as null or empty.
pub(super) fn is_reported(error: Json<'_>) -> bool {
    match error.kind() {
        Kind::Null => false,
        Kind::Boolean => error.as_str() == "true",
        Kind::Number => error.as_f64() != Some(0.0),
        Kind::String | Kind::Array | Kind::Object => !matches!(error.as_str(), "\"\"" | "[]" | "{}"),
    }
}
