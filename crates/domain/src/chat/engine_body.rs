//! What the engine is sent.

use super::CacheSalt;
use crate::json::{Json, JsonText, ObjectWriter};

/// Room for an explicit output limit and a salt.
const ADDED_BYTES: usize = 96;

/// Whether the client set an output limit of its own, under either name.
pub fn has_output_limit(body: Json<'_>) -> bool {
    body.members().into_iter().flatten().any(|member| {
        matches!(member.key().as_ref(), "max_tokens" | "max_completion_tokens") && !member.value.is_null()
    })
}

/// The body for the engine, from the stored one: `model` is the engine's name for it, the output limit is there as
/// `max_tokens` (where the client set none, this one, if any), `stream` and `stream_options` are gone, `cache_salt` is the
/// account's where one is given, and every other member is the same byte for byte.
pub fn engine_body(
    body: Json<'_>,
    engine_model: &str,
    max_tokens: Option<u32>,
    cache_salt: Option<&CacheSalt>,
) -> JsonText {
    let mut writer = ObjectWriter::with_capacity(body.as_str().len() + engine_model.len() + ADDED_BYTES);
    let mut has_limit = false;
    let mut synonym = None;
    let mut clients_salt = None;
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
            "cache_salt" if cache_salt.is_some() => {
                clients_salt = Some(member.value).filter(|value| !value.is_null());
            }
            _ => writer.copy(member.raw_key, member.value),
        }
    }
    match synonym {
        _ if has_limit => {}
        Some(limit) => writer.json("max_tokens", limit),
        None => max_tokens.into_iter().for_each(|limit| writer.integer("max_tokens", limit.into())),
    }
    if let Some(salt) = cache_salt {
        writer.string("cache_salt", &salt.render(clients_salt));
    }
    writer.finish()
}
