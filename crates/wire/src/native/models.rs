//! The models on offer, as OpenAI lists them, with their prices.

use serde::{Deserialize, Serialize};

/// A model that requests may name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(example = json!({
    "id": "llama-3.1-8b-instruct",
    "object": "model",
    "created": 1751400000,
    "owned_by": "overnight",
    "input_price": "0.10",
    "output_price": "0.15",
    "default_max_tokens": 4096,
    "image_tokens": 1024,
    "bytes_per_token": 2
})))]
pub struct Model {
    /// The name to put into `request_body.model`.
    pub id: String,
    /// Always `model`.
    #[cfg_attr(feature = "openapi", schema(schema_with = super::schemas::model_object))]
    pub object: String,
    /// When the service began to offer it, in Unix seconds.
    pub created: i64,
    /// Who offers it.
    pub owned_by: String,
    /// Credits per million tokens read, as a decimal number; null where nothing is charged.
    #[cfg_attr(feature = "openapi", schema(required = true, pattern = r"^\d+(\.\d+)?$"))]
    pub input_price: Option<String>,
    /// Credits per million tokens written, as a decimal number; null where nothing is charged.
    #[cfg_attr(feature = "openapi", schema(required = true, pattern = r"^\d+(\.\d+)?$"))]
    pub output_price: Option<String>,
    /// The output limit of a request that names none, in tokens.
    pub default_max_tokens: u32,
    /// How many input tokens the hold of a request counts for an image.
    pub image_tokens: u32,
    /// Of how many bytes of messages and tools the hold of a request counts a token.
    pub bytes_per_token: u32,
}

impl Model {
    /// The `object` of every model.
    pub const OBJECT: &'static str = "model";
}

/// Every model that requests may name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModelList {
    /// Always `list`.
    #[cfg_attr(feature = "openapi", schema(schema_with = super::schemas::list_object))]
    pub object: String,
    /// The models.
    pub data: Vec<Model>,
}

impl ModelList {
    /// The `object` of every list.
    pub const OBJECT: &'static str = "list";
}
