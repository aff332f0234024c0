//! What the engine is sent.

use crate::json::{Json, JsonText, ObjectWriter};

/// Room for an explicit output limit.
const LIMIT_BYTES: usize = 32;

/// The body for the engine, from the stored one: `model` is the engine's name for it, the output limit is always there as
/// `max_tokens` (this one where the client set none), `stream` and `stream_options` are gone, and every other
/// member is the same byte for byte.
pub fn engine_body(body: Json<'_>, engine_model: &str, max_tokens: u32) -> JsonText {
    let mut writer = ObjectWriter::with_capacity(body.as_str().len() + engine_model.len() + LIMIT_BYTES);
    let mut has_limit = false;
    let mut synonym = None;
    for member in body.members().into_iter().flatten() {
        match member.key().as_ref() {
            "model" => writer.string("model", engine_model),
            "stream" | "stream_options" => {}
            "max_tokens" if member.value.is_null() => {}
            "max_tokens" => {
                has_limit = true;
                writer.copy(member.raw_key, member.value);
            }
            "max_completion_tokens" => synonym = Some(member.value).filter(|value| !value.is_null()),
            _ => writer.copy(member.raw_key, member.value),
        }
    }
    match synonym {
        _ if has_limit => {}
        Some(limit) => writer.json("max_tokens", limit),
        None => writer.integer("max_tokens", max_tokens),
    }
    writer.finish()
}
