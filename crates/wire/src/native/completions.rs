//! Completions of prompts without a conversation, as in OpenAI's dialect. The service passes them through unchanged; these types are for
//! clients and for the reference.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::chat::Usage;

/// What a model is asked to go on from: the `request_body` of a request for completions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(example = json!({
    "model": "llama-3.1-8b",
    "prompt": "The capital of France is",
    "max_tokens": 16
})))]
pub struct CompletionRequest {
    /// One of the models that `/v1/models` lists.
    pub model: String,
    /// A string, an array of strings, an array of tokens, or an array of arrays of tokens.
    #[cfg_attr(feature = "openapi", schema(schema_with = super::schemas::inputs))]
    pub prompt: Value,
    /// Every other field.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// What a model went on with: the `result_body` of a completed request for completions. Engines may add fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(example = json!({
    "id": "cmpl-1",
    "object": "text_completion",
    "created": 1_767_225_600,
    "model": "llama-3.1-8b",
    "choices": [{"index": 0, "text": " Paris.", "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 6, "completion_tokens": 3, "total_tokens": 9}
})))]
pub struct TextCompletion {
    /// The engine's identifier of the completion.
    pub id: String,
    /// Always `text_completion`.
    #[cfg_attr(feature = "openapi", schema(schema_with = super::schemas::text_completion_object))]
    pub object: String,
    /// When it was written, in Unix seconds.
    pub created: i64,
    /// The model, as the request named it.
    pub model: String,
    /// The answers, `n` for each prompt.
    pub choices: Vec<TextChoice>,
    /// What was read and written.
    pub usage: Usage,
    /// Every other field.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// One answer to a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TextChoice {
    /// What the model wrote.
    pub text: String,
    /// Why the model stopped, such as `stop` or `length`.
    pub finish_reason: Option<String>,
    /// Every other field, such as `index` and `logprobs`.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}
