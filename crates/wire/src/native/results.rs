//! The body and the result of a request of any endpoint.

use serde::{Deserialize, Serialize};

use super::chat::{ChatCompletion, ChatCompletionRequest};
use super::completions::{CompletionRequest, TextCompletion};
use super::embeddings::{EmbeddingList, EmbeddingRequest};

/// The `request_body` of a request. Those for completions and embeddings are created in OpenAI's dialect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum RequestBody {
    /// Asks for a chat completion.
    Chat(ChatCompletionRequest),
    /// Asks for a completion of a prompt.
    Completion(CompletionRequest),
    /// Asks for embeddings.
    Embeddings(EmbeddingRequest),
}

/// The `result_body` of a request: what the engine answered a completed one, the error of a failed one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ResultBody {
    /// The model answered.
    Completed(ChatCompletion),
    /// The model went on from the prompts.
    TextCompleted(TextCompletion),
    /// The vectors of the inputs.
    Embedded(EmbeddingList),
    /// The request failed.
    Failed(FailedResult),
}

/// The `result_body` of a failed request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(example = json!({
    "error": {
        "message": "the completion window ended before an engine answered",
        "type": "server_error",
        "code": "expired",
        "param": null
    }
})))]
pub struct FailedResult {
    /// Why it failed.
    pub error: FailureBody,
}

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FailureBody {
    /// What went wrong, for a person to read; the engine's own words where it refused.
    pub message: String,
    /// The kind of failure, for a program to tell by.
    #[serde(rename = "type")]
    pub kind: String,
    /// `expired`, `engine_rejected`, `engine_unavailable` or `engine_invalid_response`; `invalid_input` where the request came in a batch
    /// of Anthropic's dialect and was refused.
    pub code: String,
    /// What in the request the engine found at fault, or null.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub param: Option<String>,
}
