//! The body that an engine receives.

use super::CacheSalt;
use crate::json::{Json, JsonText, ObjectWriter};

const ADDED_BYTES: usize = 96;

/// The two names of the output limit. Some engines refuse one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitField {
    /// `max_tokens`.
    MaxTokens,
    /// `max_completion_tokens`.
    MaxCompletionTokens,
}

impl LimitField {
    /// Its name in a body.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MaxTokens => "max_tokens",
            Self::MaxCompletionTokens => "max_completion_tokens",
        }
    }

    /// The other name.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::MaxTokens => Self::MaxCompletionTokens,
            Self::MaxCompletionTokens => Self::MaxTokens,
        }
    }
}

/// The client's own output limit and its field. A body with both fields, which are equal, counts as one with `max_tokens`.
pub fn output_limit(body: Json<'_>) -> Option<(LimitField, u64)> {
    let mut limit = None;
    for member in body.members().into_iter().flatten() {
        let field = match member.key().as_ref() {
            "max_tokens" => LimitField::MaxTokens,
            "max_completion_tokens" => LimitField::MaxCompletionTokens,
            _ => continue,
        };
        let tokens = member.value.as_integer_text().and_then(|text| text.parse().ok());
        if let Some(tokens) = tokens.filter(|_| limit.is_none() || field == LimitField::MaxTokens) {
            limit = Some((field, tokens));
        }
    }
    limit
}

/// Whether the client set an output limit, under either name.
pub fn has_output_limit(body: Json<'_>) -> bool {
    body.members().into_iter().flatten().any(|member| {
        matches!(member.key().as_ref(), "max_tokens" | "max_completion_tokens") && !member.value.is_null()
    })
}

/// The engine's body, from the stored one. `model` is the engine's name for it, `stream` and `stream_options` are removed, and `cache_salt`
/// is the account's if given. The output limit is the client's, else `max_tokens`. Its field is `limit_field`, else the client's, else
/// `max_tokens`. Every other member is unchanged.
pub fn engine_body(
    body: Json<'_>,
    engine_model: &str,
    max_tokens: Option<u32>,
    limit_field: Option<LimitField>,
    cache_salt: Option<&CacheSalt>,
) -> JsonText {
    let mut writer = ObjectWriter::with_capacity(body.as_str().len() + engine_model.len() + ADDED_BYTES);
    let name_of = |used: LimitField| limit_field.unwrap_or(used).name();
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
                match limit_field {
                    Some(LimitField::MaxCompletionTokens) => {
                        writer.json("max_completion_tokens", member.value);
                    }
                    Some(LimitField::MaxTokens) | None => writer.copy(member.raw_key, member.value),
                }
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
        Some(limit) => writer.json(name_of(LimitField::MaxCompletionTokens), limit),
        None => {
            let name = name_of(LimitField::MaxTokens);
            max_tokens.into_iter().for_each(|limit| writer.integer(name, limit.into()));
        }
    }
    if let Some(salt) = cache_salt {
        writer.string("cache_salt", &salt.render(clients_salt));
    }
    writer.finish()
}
