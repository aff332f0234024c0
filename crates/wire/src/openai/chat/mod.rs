//! Chat completions: the body is what native clients send as `request_body`, with members beside it that steer the call alone.

mod chunks;
#[cfg(test)]
mod tests;

use overnight_domain::faults::{Faults, Quoted, codes};
use overnight_domain::json::{Json, JsonText, Kind, Member, ObjectWriter, RawObject};

pub use self::chunks::{write_chunks, write_error};
use crate::json::push;

/// What says how the call is answered, or speaks to OpenAI's own service. None of it is stored.
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

/// What service tiers clients may name. Each gets the one there is.
const TIERS: [&str; 6] = ["auto", "default", "flex", "scale", "priority", "fast"];

/// The tier that every answer names: slower and cheaper than the others.
pub(in crate::openai) const TIER: &str = "flex";

/// How a call is to be answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Delivery {
    /// As events.
    pub is_stream: bool,
    /// With the usage as the last of them.
    pub includes_usage: bool,
}

impl Delivery {
    /// Reads it from the body of a call. A body that is no object asks for nothing; the checks of the native dialect refuse it.
    ///
    /// # Errors
    ///
    /// The faults of the members that nobody else reads.
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

/// An optional member that is true or false; false where it is absent.
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

/// Refuses a service tier that nobody knows.
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

/// The body of Create Request as the native dialect takes it. What is no object is left as it is: the checks of the native dialect
/// refuse it.
///
/// # Errors
///
/// None: [`Delivery::read`] names the faults of what is left out here.
pub fn to_native(body: JsonText) -> Result<JsonText, Faults> {
    let Some(members) = body.as_json().members() else { return Ok(body) };
    let mut native = ObjectWriter::with_capacity(body.as_str().len() + 64);
    let mut chat = ObjectWriter::with_capacity(body.as_str().len());
    for Member { raw_key, value } in members {
        match raw_key.decode_string().as_deref() {
            Some("metadata") => native.json("metadata", or_empty(value)),
            Some(key) if STEERING.contains(&key) => {}
            _ => chat.copy(raw_key, value),
        }
    }
    native.json("request_body", chat.finish().as_json());
    Ok(native.finish())
}

/// Metadata that these clients send as null is none.
fn or_empty(metadata: Json<'_>) -> Json<'_> {
    if metadata.is_null() { Json::EMPTY_OBJECT } else { metadata }
}

/// Appends a completion as the engine wrote it, but for the tier.
pub fn write_completion(completion: &[u8], out: &mut Vec<u8>) {
    let Some(members) = Json::from_stored(completion).ok().and_then(Json::members) else { return };
    let mut writer = ObjectWriter::with_capacity(completion.len() + 32);
    for member in members.filter(|member| member.key() != "service_tier") {
        writer.copy(member.raw_key, member.value);
    }
    writer.string("service_tier", TIER);
    push(writer.finish().as_str(), out);
}
