//! Sampling fields, and fields that allow or end with certain tokens.

use std::collections::BTreeMap;

use super::{Refusal, body::Body, within};
use crate::{
    model::Token,
    sampling::{Sampling, TokenSet},
};

/// Tokens whose logits one request may shift.
const BIAS_MAX: usize = 1024;
/// Tokens that may end an answer of one request.
const STOP_TOKENS_MAX: usize = 128;

pub(super) fn sampling(body: &Body, token_count: usize, seed: u64) -> Result<Sampling, Refusal> {
    let penalty = |name, value: Option<f32>| within(name, value.unwrap_or(0.0), -2.0, 2.0);
    let top_k = within("top_k", body.top_k.unwrap_or(0), -1, i64::MAX)?;
    Ok(Sampling {
        temperature: within("temperature", body.temperature.unwrap_or(1.0), 0.0, 2.0)?,
        top_p: within("top_p", body.top_p.unwrap_or(1.0), 0.0, 1.0)?,
        top_k: usize::try_from(top_k).unwrap_or(0),
        min_p: within("min_p", body.min_p.unwrap_or(0.0), 0.0, 1.0)?,
        frequency_penalty: penalty("frequency_penalty", body.frequency_penalty)?,
        presence_penalty: penalty("presence_penalty", body.presence_penalty)?,
        repetition_penalty: repetition_penalty(body)?,
        bias: bias(body.logit_bias.as_ref(), token_count)?,
        seed: body.seed.map_or(seed, i64::cast_unsigned),
    })
}

fn bias(asked: Option<&BTreeMap<String, f32>>, token_count: usize) -> Result<Vec<(Token, f32)>, Refusal> {
    let asked = asked.into_iter().flatten();
    let read = |(token, bias): (&String, &f32)| {
        let token = known("logit_bias", token, token.parse().ok(), token_count)?;
        Ok((token, within("logit_bias", *bias, -100.0, 100.0)?))
    };
    let bias = asked.map(read).collect::<Result<Vec<_>, Refusal>>()?;
    if bias.len() > BIAS_MAX {
        return Err(Refusal::of("logit_bias", format!("At most {BIAS_MAX} tokens can be biased.")));
    }
    Ok(bias)
}

/// llama.cpp and vLLM have different names for it.
fn repetition_penalty(body: &Body) -> Result<f32, Refusal> {
    let (penalty, name) = match (body.repetition_penalty, body.repeat_penalty) {
        (Some(one), Some(other)) if one.to_bits() != other.to_bits() => {
            let message = "repetition_penalty and repeat_penalty say the same and have to be equal.";
            return Err(Refusal::of("repeat_penalty", message));
        }
        (None, Some(other)) => (other, "repeat_penalty"),
        (one, _) => (one.unwrap_or(1.0), "repetition_penalty"),
    };
    within(name, penalty, 0.01, 10.0)
}

/// The only tokens that may be drawn; `None`: all.
pub(super) fn allowed(body: &Body, token_count: usize) -> Result<Option<TokenSet>, Refusal> {
    let Some(asked) = &body.allowed_token_ids else { return Ok(None) };
    let tokens = known_ones("allowed_token_ids", asked, token_count)?;
    if tokens.is_empty() {
        return Err(Refusal::of("allowed_token_ids", "There has to be at least one allowed token."));
    }
    Ok(Some(TokenSet::of(&tokens, token_count)))
}

pub(super) fn stop_tokens(body: &Body, token_count: usize) -> Result<Vec<Token>, Refusal> {
    let asked = body.stop_token_ids.as_deref().unwrap_or_default();
    if asked.len() > STOP_TOKENS_MAX {
        let message = format!("At most {STOP_TOKENS_MAX} tokens can end an answer.");
        return Err(Refusal::of("stop_token_ids", message));
    }
    known_ones("stop_token_ids", asked, token_count)
}

fn known_ones(field: &str, asked: &[i64], token_count: usize) -> Result<Vec<Token>, Refusal> {
    asked.iter().map(|token| known(field, token, Token::try_from(*token).ok(), token_count)).collect()
}

fn known(
    field: &str,
    asked: impl std::fmt::Display,
    token: Option<Token>,
    token_count: usize,
) -> Result<Token, Refusal> {
    let known = token.filter(|&token| (token as usize) < token_count);
    known.ok_or_else(|| Refusal::of(field, format!("{asked} is no token of this model.")))
}
