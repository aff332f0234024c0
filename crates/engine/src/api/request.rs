//! The request body: read, checked, and converted for the engine.

use std::{collections::BTreeMap, sync::Arc};

use minijinja::Value;

use super::{
    Refusal,
    body::{Body, Stop},
    calls::Calls,
    drawing, form, messages,
    tools::{self, Tooling},
    unsupported, within,
};
use crate::{constraint::Form, scheduler::Generation};

const CHOICES_MAX: u32 = 128;
/// Stop strings of one request, and the bytes of each.
const STOPS_MAX: usize = 16;
const STOP_BYTES_MAX: usize = 256;
const SALT_BYTES_MAX: usize = 256;
/// Alternatives that are reported for each token.
const TOP_LOGPROBS_MAX: usize = 20;

/// A checked request; everything except its prompt is in the engine's own types.
#[derive(Clone, Debug)]
pub struct ChatRequest {
    pub model: String,
    /// Each content is a string.
    pub messages: Vec<Value>,
    /// Tools for the chat template, as the client wrote them; undefined if it must see none.
    pub tools: Value,
    /// Further variables for the chat template.
    pub template_arguments: BTreeMap<String, Value>,
    /// `tokens_max` is the client's, or unbounded.
    pub generation: Generation,
    /// The required form of the answer.
    pub form: Option<Form>,
    pub calls: Calls,
    /// Only requests with the same salt share the computed beginning of their prompts.
    pub salt: Option<Arc<str>>,
}

/// `token_count` is the size of the vocabulary; `seed` is used if the request has none. Fails with the first fault.
pub fn parse(body: &[u8], token_count: usize, seed: u64) -> Result<ChatRequest, Refusal> {
    let unread = |fault: serde_json::Error| Refusal {
        message: format!("The body is no valid chat completion request: {fault}."),
        code: None,
        param: None,
    };
    let mut fields: Body = serde_json::from_slice(body).map_err(unread)?;
    unsupported::refuse(&serde_json::from_slice(body).map_err(unread)?)?;
    if fields.stream == Some(true) {
        return Err(Refusal::of("stream", "Streaming is not served here."));
    }
    let Tooling { shown, calls, form } = tools::read(fields.tools.take(), fields.tool_choice.take())?;
    let own_form = form::read(&mut fields)?;
    let form = form.or(own_form);
    let generation = generation(&mut fields, token_count, seed)?;
    if let (Some(_), Some(form)) = (&generation.allowed, &form) {
        let message = format!("allowed_token_ids and {} cannot be combined.", form.field);
        return Err(Refusal::of("allowed_token_ids", message));
    }
    Ok(ChatRequest {
        model: fields.model,
        messages: messages::normalise(fields.messages)?,
        tools: shown,
        template_arguments: fields.chat_template_kwargs.unwrap_or_default(),
        generation,
        form,
        calls,
        salt: salt(fields.cache_salt)?,
    })
}

fn generation(body: &mut Body, token_count: usize, seed: u64) -> Result<Generation, Refusal> {
    let tokens_max = tokens_max(body)?;
    Ok(Generation {
        choices: within("n", body.n.unwrap_or(1), 1, CHOICES_MAX)? as usize,
        tokens_max,
        tokens_min: within("min_tokens", body.min_tokens.unwrap_or(0), 0, tokens_max)?,
        logprobs: logprobs(body)?,
        ignores_end: body.ignore_eos.unwrap_or(false),
        sampling: drawing::sampling(body, token_count, seed)?,
        allowed: drawing::allowed(body, token_count)?,
        stop_tokens: drawing::stop_tokens(body, token_count)?,
        stops: stops(body.stop.take())?,
        repeats: body.seed.is_some(),
        keeps_stop: body.include_stop_str_in_output.unwrap_or(false),
    })
}

/// As with vLLM, an empty salt is a fault.
fn salt(salt: Option<String>) -> Result<Option<Arc<str>>, Refusal> {
    match salt {
        Some(salt) if salt.is_empty() || salt.len() > SALT_BYTES_MAX => {
            Err(Refusal::of("cache_salt", format!("cache_salt has 1 to {SALT_BYTES_MAX} bytes.")))
        }
        salt => Ok(salt.map(Arc::from)),
    }
}

fn tokens_max(body: &Body) -> Result<usize, Refusal> {
    let limit = match (body.max_tokens, body.max_completion_tokens) {
        (Some(one), Some(other)) if one != other => {
            let message = "max_tokens and max_completion_tokens say the same and have to be equal.";
            return Err(Refusal::of("max_completion_tokens", message));
        }
        (one, other) => one.or(other).unwrap_or(u64::MAX),
    };
    within("max_tokens", limit, 1, u64::MAX)?;
    Ok(usize::try_from(limit).unwrap_or(usize::MAX))
}

fn logprobs(body: &Body) -> Result<Option<usize>, Refusal> {
    let top = within("top_logprobs", body.top_logprobs.unwrap_or(0), 0, TOP_LOGPROBS_MAX)?;
    match body.logprobs {
        Some(true) => Ok(Some(top)),
        _ if top > 0 => Err(Refusal::of("top_logprobs", "top_logprobs needs logprobs to be true.")),
        _ => Ok(None),
    }
}

fn stops(stop: Option<Stop>) -> Result<Vec<String>, Refusal> {
    let stops = match stop {
        None => Vec::new(),
        Some(Stop::One(stop)) => vec![stop],
        Some(Stop::Several(stops)) => stops,
    };
    if stops.len() > STOPS_MAX {
        return Err(Refusal::of("stop", format!("There can be at most {STOPS_MAX} stop strings.")));
    }
    if stops.iter().any(|stop| stop.is_empty() || stop.len() > STOP_BYTES_MAX) {
        return Err(Refusal::of("stop", format!("A stop string has 1 to {STOP_BYTES_MAX} bytes.")));
    }
    Ok(stops)
}
