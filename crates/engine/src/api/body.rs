//! The unchecked request body.

use std::collections::BTreeMap;

use minijinja::Value;
use serde::Deserialize;

/// The fields that are read; `unsupported` lists others.
#[derive(Deserialize)]
pub(super) struct Body {
    pub(super) model: String,
    pub(super) messages: Vec<Value>,
    pub(super) tools: Option<Value>,
    pub(super) tool_choice: Option<Value>,
    pub(super) chat_template_kwargs: Option<BTreeMap<String, Value>>,
    pub(super) stream: Option<bool>,
    pub(super) n: Option<u32>,
    pub(super) max_tokens: Option<u64>,
    pub(super) max_completion_tokens: Option<u64>,
    pub(super) min_tokens: Option<usize>,
    pub(super) stop: Option<Stop>,
    pub(super) include_stop_str_in_output: Option<bool>,
    pub(super) stop_token_ids: Option<Vec<i64>>,
    pub(super) allowed_token_ids: Option<Vec<i64>>,
    pub(super) temperature: Option<f32>,
    pub(super) top_p: Option<f32>,
    pub(super) top_k: Option<i64>,
    pub(super) min_p: Option<f32>,
    pub(super) frequency_penalty: Option<f32>,
    pub(super) presence_penalty: Option<f32>,
    pub(super) repetition_penalty: Option<f32>,
    pub(super) repeat_penalty: Option<f32>,
    pub(super) logit_bias: Option<BTreeMap<String, f32>>,
    pub(super) seed: Option<i64>,
    pub(super) logprobs: Option<bool>,
    pub(super) top_logprobs: Option<usize>,
    pub(super) response_format: Option<ResponseFormat>,
    pub(super) structured_outputs: Option<StructuredOutputs>,
    pub(super) guided_json: Option<serde_json::Value>,
    pub(super) guided_regex: Option<String>,
    pub(super) guided_choice: Option<Vec<String>>,
    pub(super) guided_grammar: Option<String>,
    pub(super) regex: Option<String>,
    pub(super) json_schema: Option<serde_json::Value>,
    pub(super) ignore_eos: Option<bool>,
    pub(super) cache_salt: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "stop is a string or a list of strings")]
pub(super) enum Stop {
    One(String),
    Several(Vec<String>),
}

/// llama-server takes a schema beside `json_object`, too.
#[derive(Deserialize)]
pub(super) struct ResponseFormat {
    pub(super) r#type: String,
    pub(super) json_schema: Option<NamedSchema>,
    pub(super) schema: Option<serde_json::Value>,
}

#[derive(Deserialize)]
pub(super) struct NamedSchema {
    pub(super) name: Option<String>,
    pub(super) schema: Option<serde_json::Value>,
}

#[derive(Deserialize)]
pub(super) struct StructuredOutputs {
    pub(super) json: Option<serde_json::Value>,
    pub(super) json_object: Option<bool>,
    pub(super) regex: Option<String>,
    pub(super) choice: Option<Vec<String>>,
    pub(super) grammar: Option<String>,
    pub(super) structural_tag: Option<serde_json::Value>,
    pub(super) whitespace_pattern: Option<serde_json::Value>,
}
