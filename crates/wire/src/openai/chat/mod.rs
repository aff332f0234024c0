//! Chat completions: the body is the native `request_body` plus members that steer only this call.

mod chunks;
#[cfg(test)]
mod tests;

use overnight_domain::faults::{Faults, Quoted, codes};
use overnight_domain::json::{Json, JsonText, Kind, Member, ObjectWriter, RawObject};

pub use self::chunks::{write_chunks, write_error};
use crate::json::push;

/// Members that steer the delivery of the answer or address OpenAI's own service. They are not stored.
const STEERING: [&str; 8] = [
    "stream",
    "stream_options",
    "service_tier",
    "store",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "safety_identifier",
];

/// The service tiers that clients may name. All mean the one that exists.
const TIERS: [&str; 6] = ["auto", "default", "flex", "scale", "priority", "fast"];

/// The tier in every answer: slower and cheaper than the others.
pub(in crate::openai) const TIER: &str = "flex";

/// How the answer is delivered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Delivery {
    /// As a stream of events.
    pub is_stream: bool,
    /// Whether the stream's last event is the usage.
    pub includes_usage: bool,
}

impl Delivery {
    /// Reads it from the body of a call. A body that is not an object has the defaults, because the native checks refuse it. Fails with the
    /// faults of members that nothing else reads.
    pub fn read(body: Json<'_>) -> Result<Self, Faults> {
        let mut faults = Faults::default();
        let Some(body) = body.to_object() else { return Ok(Self::default()) };
        let is_stream = read_flag(&body, "stream", "stream", &mut faults);
        let options = body.get_some("stream_options").and_then(Json::to_object);
        let includes_usage = options.is_some_and(|options| {
            read_flag(&options, "include_usage", "stream_options.include_usage", &mut faults)
        });
        check_tier(&body, &mut faults);
        if body.get_some("moderation").is_some() {
            faults.push("moderation", codes::NOT_ALLOWED, "is not supported: nothing is moderated here");
        }
        if faults.is_empty() { Ok(Self { is_stream, includes_usage }) } else { Err(faults) }
    }
}

/// An optional boolean member; false if absent.
pub(in crate::openai) fn read_flag(
    object: &RawObject<'_>,
    key: &str,
    path: &str,
    faults: &mut Faults,
) -> bool {
    let Some(value) = object.get_some(key) else { return false };
    if value.kind() != Kind::Boolean {
        faults.push(path, codes::WRONG_TYPE, "must be true or false");
    }
    value.as_str() == "true"
}

pub(in crate::openai) fn check_tier(body: &RawObject<'_>, faults: &mut Faults) {
    let Some(tier) = body.get_some("service_tier") else { return };
    match tier.decode_string() {
        None => faults.push("service_tier", codes::WRONG_TYPE, "must be a string"),
        Some(name) if TIERS.contains(&name.as_ref()) => {}
        Some(name) => {
            let message = format_args!("must be one of {}, not '{}'", TIERS.join(", "), Quoted(&name));
            faults.push("service_tier", codes::UNKNOWN_VALUE, message);
        }
    }
}

/// Converts a body to the native Create Request. A body that is not an object stays unchanged, because the native checks refuse it. Never
/// fails: [`Delivery::read`] reports the faults of the members left out here.
pub fn to_native(body: JsonText) -> Result<JsonText, Faults> {
    Ok(without(&STEERING, body))
}

/// The native Create Request for `body` without the members `steering`.
pub(super) fn without(steering: &[&str], body: JsonText) -> JsonText {
    let Some(members) = body.as_json().members() else { return body };
    let mut native = ObjectWriter::with_capacity(body.as_str().len() + 64);
    let mut chat = ObjectWriter::with_capacity(body.as_str().len());
    for Member { raw_key, value, .. } in members {
        match raw_key.decode_string().as_deref() {
            Some("metadata") => native.json("metadata", or_empty(value)),
            Some(key) if steering.contains(&key) => {}
            _ => chat.copy(raw_key, value),
        }
    }
    native.json("request_body", chat.finish().as_json());
    native.finish()
}

/// Clients may send null for empty metadata.
fn or_empty(metadata: Json<'_>) -> Json<'_> {
    if metadata.is_null() { Json::EMPTY_OBJECT } else { metadata }
}

/// Appends the engine's completion with the tier replaced.
pub fn write_completion(completion: &[u8], out: &mut Vec<u8>) {
    let Some(members) = Json::from_stored(completion).ok().and_then(Json::members) else { return };
    let mut writer = ObjectWriter::with_capacity(completion.len() + 32);
    for member in members.filter(|member| member.key() != "service_tier") {
        writer.copy(member.raw_key, member.value);
    }
    writer.string("service_tier", TIER);
    push(writer.finish().as_str(), out);
}
