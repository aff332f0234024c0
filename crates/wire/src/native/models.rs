//! The available models with their prices, in OpenAI's list form.

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
    "bytes_per_token": 2,
    "aliases": ["llama-3.1-8b"],
    "retires_at": null,
    "replaced_by": null
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
    /// Other names of it, which `request_body.model` may have too.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub aliases: Vec<String>,
    /// From when on no requests may be made for it, in Unix seconds; null where nothing is planned. Requests that were made before are served.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub retires_at: Option<i64>,
    /// The model to use then; null where none is named.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub replaced_by: Option<String>,
}

impl Model {
    /// The `object` of every model.
    pub const OBJECT: &'static str = "model";

    /// Whether requests may use this name for it.
    pub fn has_name(&self, name: &str) -> bool {
        self.id == name || self.aliases.iter().any(|alias| alias == name)
    }
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
