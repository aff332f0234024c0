//! The request body: read, checked, and turned into what the engine works on.

use std::collections::BTreeMap;

use minijinja::Value;
use serde::Deserialize;

use super::form::{self, Form, ResponseFormat, StructuredOutputs};
use super::{Refusal, messages, unserved};
use crate::{model::Token, sampling::Sampling, scheduler::Generation};

/// The most answers to one request.
const CHOICES_MAX: u32 = 128;
/// The most stop strings of one request, and the most bytes of each.
const STOPS_MAX: usize = 16;
const STOP_BYTES_MAX: usize = 256;
/// The most rivals that are reported beside each token.
const TOP_LOGPROBS_MAX: usize = 20;
/// The most tokens whose logits one request may shift.
const BIAS_MAX: usize = 1024;

/// A checked request; all but its prompt is in the engine's own terms.
#[derive(Clone, Debug)]
pub struct ChatRequest {
    /// The model that the client named.
    pub model: String,
    /// Messages whose content is a string each.
    pub messages: Vec<Value>,
    /// Tools, as the client wrote them; undefined if there are none.
    pub tools: Value,
    /// Further variables for the chat template.
    pub template_arguments: BTreeMap<String, Value>,
    /// The form that the answer is to have, if there is one.
    pub form: Option<Form>,
    /// How the answer is made; `tokens_max` is as the client said, or without bound.
    pub generation: Generation,
}

/// The fields that are read; others are passed over.
#[derive(Deserialize)]
struct Body {
    model: String,
    messages: Vec<Value>,
    #[serde(default)]
    tools: Option<Value>,
    #[serde(default)]
    chat_template_kwargs: Option<BTreeMap<String, Value>>,
    stream: Option<bool>,
    n: Option<u32>,
    max_tokens: Option<u64>,
    max_completion_tokens: Option<u64>,
    stop: Option<Stop>,
    temperature: Option<f32>,
    top_p: Option<f32>,
    top_k: Option<i64>,
    min_p: Option<f32>,
    frequency_penalty: Option<f32>,
    presence_penalty: Option<f32>,
    repetition_penalty: Option<f32>,
    logit_bias: Option<BTreeMap<String, f32>>,
    seed: Option<i64>,
    logprobs: Option<bool>,
    top_logprobs: Option<usize>,
    response_format: Option<ResponseFormat>,
    json_schema: Option<serde_json::Value>,
    guided_json: Option<serde_json::Value>,
    structured_outputs: Option<StructuredOutputs>,
    tool_choice: Option<serde_json::Value>,
    ignore_eos: Option<bool>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "stop is a string or a list of strings")]
enum Stop {
    One(String),
    Several(Vec<String>),
}

/// Reads a body. `token_count` is the size of the vocabulary; `seed` serves a request that names none.
///
/// # Errors
/// A [`Refusal`] that names the first fault.
pub fn parse(body: &[u8], token_count: usize, seed: u64) -> Result<ChatRequest, Refusal> {
    let text = body;
    let body: Body = serde_json::from_slice(text).map_err(|fault| Refusal {
        message: format!("The body is no valid chat completion request: {fault}."),
        code: None,
        param: None,
    })?;
    refuse_stream(&body)?;
    let shows_tools = unserved::check_tool_choice(body.tool_choice.as_ref())?;
    unserved::check(text)?;
    let generation = Generation {
        choices: within("n", body.n.unwrap_or(1), 1, CHOICES_MAX)? as usize,
        tokens_max: tokens_max(&body)?,
        logprobs: logprobs(&body)?,
        ignores_end: body.ignore_eos.unwrap_or(false),
        sampling: sampling(&body, token_count, seed)?,
        stops: stops(body.stop)?,
    };
    Ok(ChatRequest {
        model: body.model,
        messages: messages::normalise(body.messages)?,
        tools: body.tools.filter(|tools| shows_tools && tools.is_true()).unwrap_or_default(),
        form: form::choose(
            body.response_format,
            body.structured_outputs,
            body.guided_json,
            body.json_schema,
        )?,
        template_arguments: body.chat_template_kwargs.unwrap_or_default(),
        generation,
    })
}

fn refuse_stream(body: &Body) -> Result<(), Refusal> {
    match body.stream {
        Some(true) => Err(Refusal::of("stream", "Streaming is not served here.")),
        _ => Ok(()),
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

fn sampling(body: &Body, token_count: usize, seed: u64) -> Result<Sampling, Refusal> {
    let penalty = |name, value: Option<f32>| within(name, value.unwrap_or(0.0), -2.0, 2.0);
    let top_k = within("top_k", body.top_k.unwrap_or(0), -1, i64::MAX)?;
    Ok(Sampling {
        temperature: within("temperature", body.temperature.unwrap_or(1.0), 0.0, 2.0)?,
        top_p: within("top_p", body.top_p.unwrap_or(1.0), 0.0, 1.0)?,
        top_k: usize::try_from(top_k).unwrap_or(0),
        min_p: within("min_p", body.min_p.unwrap_or(0.0), 0.0, 1.0)?,
        frequency_penalty: penalty("frequency_penalty", body.frequency_penalty)?,
        presence_penalty: penalty("presence_penalty", body.presence_penalty)?,
        repetition_penalty: within("repetition_penalty", body.repetition_penalty.unwrap_or(1.0), 0.01, 10.0)?,
        bias: bias(body.logit_bias.as_ref(), token_count)?,
        seed: body.seed.map_or(seed, i64::cast_unsigned),
    })
}

fn bias(asked: Option<&BTreeMap<String, f32>>, token_count: usize) -> Result<Vec<(Token, f32)>, Refusal> {
    let asked = asked.into_iter().flatten();
    let read = |(token, bias): (&String, &f32)| {
        let known = token.parse::<Token>().ok().filter(|&token| (token as usize) < token_count);
        let token = known
            .ok_or_else(|| Refusal::of("logit_bias", format!("{token:?} is no token of this model.")))?;
        Ok((token, within("logit_bias", *bias, -100.0, 100.0)?))
    };
    let bias = asked.map(read).collect::<Result<Vec<_>, Refusal>>()?;
    if bias.len() > BIAS_MAX {
        return Err(Refusal::of("logit_bias", format!("At most {BIAS_MAX} tokens can be biased.")));
    }
    Ok(bias)
}

fn within<N: Copy + PartialOrd + std::fmt::Display>(
    param: &str,
    value: N,
    least: N,
    most: N,
) -> Result<N, Refusal> {
    if value >= least && value <= most {
        return Ok(value);
    }
    Err(Refusal::of(param, format!("{param} is {value}; it has to be from {least} to {most}.")))
}
