//! Chat completions in OpenAI's form. The service passes bodies and answers through unchanged; these types are for clients and for the
//! reference.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a model is asked. Fields beside these go to the engine as they are (tools, `seed`, `stop`, …), except those
/// that would steer the engine or widen the output past its limit, which are refused.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(example = json!({
    "model": "llama-3.1-8b-instruct",
    "messages": [
        {"role": "system", "content": "You are a helpful assistant."},
        {"role": "user", "content": "What is the capital of France?"}
    ],
    "max_tokens": 200,
    "temperature": 0.7
})))]
pub struct ChatCompletionRequest {
    /// One of the models that `/v1/models` lists.
    #[cfg_attr(feature = "openapi", schema(min_length = 1))]
    pub model: String,
    /// The conversation so far, at least one message.
    #[cfg_attr(feature = "openapi", schema(min_items = 1))]
    pub messages: Vec<ChatMessage>,
    /// Discourages words the more often they have come up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = -2, maximum = 2))]
    pub frequency_penalty: Option<f64>,
    /// Discourages words that have come up at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = -2, maximum = 2))]
    pub presence_penalty: Option<f64>,
    /// Whether to return the log probability of each token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logprobs: Option<bool>,
    /// The most tokens to write for each choice. Without it, the model's default. `max_completion_tokens` means the
    /// same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 2_147_483_647))]
    pub max_tokens: Option<u64>,
    /// How many choices to write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 128))]
    pub n: Option<u64>,
    /// The form of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_format: Option<ResponseFormat>,
    /// Accepted, and without effect: a result is always whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    /// How freely to choose among likely tokens; 0 always takes the likeliest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 2))]
    pub temperature: Option<f64>,
    /// Choose only among the likeliest tokens that make up this share of the probability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 1))]
    pub top_p: Option<f64>,
    /// Every other field.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl ChatCompletionRequest {
    /// Asks `model` to continue `messages`, with the model's default parameters.
    pub fn new(model: impl Into<String>, messages: Vec<ChatMessage>) -> Self {
        Self { model: model.into(), messages, ..Self::default() }
    }
}

/// One message of a conversation. Fields beside these (`name`, `tool_calls`, `tool_call_id`, …) are passed through.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(example = json!({
    "role": "user",
    "content": "What is the capital of France?"
})))]
pub struct ChatMessage {
    /// Who speaks: `system`, `developer`, `user`, `assistant` or `tool`.
    #[cfg_attr(feature = "openapi", schema(schema_with = super::schemas::role))]
    pub role: String,
    /// What is said: a string, or a list of OpenAI's content parts. Null or absent on an `assistant` message with
    /// `tool_calls`.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(schema_with = super::schemas::content))]
    pub content: Value,
    /// Every other field.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl ChatMessage {
    /// A message with a role and a text.
    pub fn new(role: impl Into<String>, content: impl Into<String>) -> Self {
        Self { role: role.into(), content: Value::String(content.into()), other: Map::new() }
    }
}

/// The form of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(example = json!({"type": "text"})))]
pub struct ResponseFormat {
    /// `text`, or another form that the engine knows.
    #[serde(rename = "type")]
    pub kind: String,
    /// Every other field, such as `json_schema`.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// What a model answered: the `result_body` of a completed request. Engines may add fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChatCompletion {
    /// The engine's identifier of the completion.
    pub id: String,
    /// Always `chat.completion`.
    #[cfg_attr(feature = "openapi", schema(schema_with = super::schemas::chat_completion_object))]
    pub object: String,
    /// When it was written, in Unix seconds.
    pub created: i64,
    /// The model, as the request named it.
    pub model: String,
    /// The answers, as many as `n` asked for.
    pub choices: Vec<Choice>,
    /// What was read and written.
    pub usage: Usage,
    /// Every other field.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Choice {
    /// The model's message.
    pub message: ChatMessage,
    /// Why the model stopped, such as `stop`, `length` or `tool_calls`.
    pub finish_reason: Option<String>,
    /// Every other field, such as `index` and `logprobs`.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Tokens read and written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Usage {
    /// Read.
    pub prompt_tokens: u64,
    /// Written.
    pub completion_tokens: u64,
    /// Both.
    pub total_tokens: u64,
    /// Every other field.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}
