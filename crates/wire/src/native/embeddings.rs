//! Embeddings, as in OpenAI's dialect. The service passes them through unchanged; these types are for clients and for the reference.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What there are to be vectors of: the `request_body` of a request for embeddings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(example = json!({
    "model": "bge-m3",
    "input": ["Paris", "London"]
})))]
pub struct EmbeddingRequest {
    /// One of the models that `/v1/models` lists.
    pub model: String,
    /// A string, an array of strings, an array of tokens, or an array of arrays of tokens: up to 2,048 inputs.
    #[cfg_attr(feature = "openapi", schema(schema_with = super::schemas::inputs))]
    pub input: Value,
    /// Every other field.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The vectors of the inputs: the `result_body` of a completed request for embeddings. Engines may add fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(example = json!({
    "object": "list",
    "data": [{"object": "embedding", "index": 0, "embedding": [0.25, -0.5]}],
    "model": "bge-m3",
    "usage": {"prompt_tokens": 2, "total_tokens": 2}
})))]
pub struct EmbeddingList {
    /// Always `list`.
    #[cfg_attr(feature = "openapi", schema(schema_with = super::schemas::list_object))]
    pub object: String,
    /// One vector for each input.
    pub data: Vec<Embedding>,
    /// The model, as the request named it.
    pub model: String,
    /// What was read.
    pub usage: EmbeddingUsage,
    /// Every other field.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The vector of one input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Embedding {
    /// The place of the input, from 0.
    pub index: u64,
    /// Its numbers; or their bytes (little-endian, 4 each) in base64 where the request's `encoding_format` is `base64`.
    #[cfg_attr(feature = "openapi", schema(schema_with = super::schemas::vector))]
    pub embedding: Value,
    /// Every other field.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Tokens read. An embedding has no output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EmbeddingUsage {
    /// Read.
    pub prompt_tokens: u64,
    /// The same.
    pub total_tokens: u64,
    /// Every other field.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}
