//! Rules of members that several endpoints have.

use super::path::Path;
use super::refused;
use super::review::{Review, fold};
use crate::faults::codes;
use crate::json::{DEPTH_MAX, Kind, RawObject};

const N_MAX: u32 = 128;

/// The largest output limit that every engine's integer type holds.
const MAX_TOKENS_MAX: u32 = i32::MAX as u32;

/// The deepest nesting of a member: it is within a body, which is within that of Create Request.
const MEMBER_DEPTH_MAX: u32 = DEPTH_MAX - 2;

const NUMBERS: [(&str, f64, f64); 4] = [
    ("temperature", 0.0, 2.0),
    ("top_p", 0.0, 1.0),
    ("frequency_penalty", -2.0, 2.0),
    ("presence_penalty", -2.0, 2.0),
];

/// Refuses a body that would be too deep to send again as the service writes it, two levels deep in the body of Create Request: other
/// dialects have fewer levels around it.
pub(crate) fn check_depth(review: &mut Review<'_>, body: &RawObject<'_>, path: &Path<'_>) {
    for (key, _) in body.members().iter().filter(|(_, value)| value.is_deeper_than(MEMBER_DEPTH_MAX)) {
        let message = format_args!("must be nested at most {MEMBER_DEPTH_MAX} levels deep");
        review.fault(&path.member(key), codes::TOO_DEEP, message);
    }
}

/// Refuses the fields that are not passed on, and look-alikes of those and of the fields in `read`, which the endpoint reads.
pub(crate) fn check_names(review: &mut Review<'_>, body: &RawObject<'_>, path: &Path<'_>, read: &[&str]) {
    for (key, value) in body.members() {
        if let Some(field) = refused::find(key).filter(|field| !read.contains(&field.name)) {
            if !value.is_null() {
                check_allowed(review, path, field.name);
            }
        } else if let Some(folded) = fold(key)
            && (read.contains(&folded.as_str()) || refused::find(&folded).is_some())
        {
            review.refuse_spelling(&path.member(key), &folded);
        }
    }
}

/// Refuses a field that is not passed on, unless the operator allows it.
pub(crate) fn check_allowed(review: &mut Review<'_>, path: &Path<'_>, name: &str) {
    let Some(field) = refused::find(name) else { return };
    if !review.limits.allow_fields.iter().any(|allowed| allowed == field.name) {
        let message = format_args!(
            "is not passed on, because it {}; the operator may allow it in limits.allow_fields",
            field.reason
        );
        review.fault(&path.member(field.name), codes::NOT_ALLOWED, message);
    }
}

/// The model's name, which is required and must not be empty.
pub(crate) fn read_model(review: &mut Review<'_>, body: &RawObject<'_>, path: &Path<'_>) -> String {
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
pub(crate) fn read_max_tokens(review: &mut Review<'_>, body: &RawObject<'_>, path: &Path<'_>) -> Option<u32> {
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

pub(crate) fn read_n(review: &mut Review<'_>, body: &RawObject<'_>, path: &Path<'_>) -> u32 {
    read_integer(review, body, path, "n", N_MAX).unwrap_or(1)
}

pub(crate) fn check_numbers(review: &mut Review<'_>, body: &RawObject<'_>, path: &Path<'_>) {
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
}

/// Checks that these members are true or false if present.
pub(crate) fn check_booleans(review: &mut Review<'_>, body: &RawObject<'_>, path: &Path<'_>, keys: &[&str]) {
    for key in keys {
        if body.get_some(key).is_some_and(|value| value.kind() != Kind::Boolean) {
            review.fault(&path.member(key), codes::WRONG_TYPE, "must be true or false");
        }
    }
}

/// An optional integer from 1 to `high`, spelt as one: `1.0` and `1e2` are refused, because engines read them differently.
pub(crate) fn read_integer(
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
