//! Models over HTTP.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use overnight_config::{Price, RetiresAt};
use overnight_wire::native::models::{Model, ModelList};

#[cfg(test)]
use super::refusals::Always;
use overnight_app::Services;

use crate::answers;
use crate::context::Shared;

const OWNER: &str = "overnight";

/// List models
///
/// The models that requests may name, as OpenAI lists them, with their prices. Those that have retired are left out.
#[cfg_attr(test, utoipa::path(get, path = "/v1/models", operation_id = "list_models", tag = "Models",
    responses((status = 200, description = "The models.", body = ModelList), Always)))]
pub(crate) async fn list(State(context): State<Shared>) -> Response {
    let models = models(&context.services);
    // Writing to memory cannot fail.
    answers::ok(|out| drop(serde_json::to_writer(out, &models)))
}

/// Every model that requests may name now.
pub(crate) fn models(services: &Services) -> ModelList {
    let is_charged = services.config().billing.enabled;
    let price =
        |price: &Option<Price>| price.as_ref().filter(|_| is_charged).map(|price| price.as_str().to_owned());
    let model = |model: &Arc<overnight_app::Model>| Model {
        id: model.config.name.clone(),
        object: Model::OBJECT.to_owned(),
        created: services.started_at.div_euclid(1_000),
        owned_by: OWNER.to_owned(),
        input_price: price(&model.config.input_price),
        output_price: price(&model.config.output_price),
        default_max_tokens: model.config.default_max_tokens,
        image_tokens: model.config.image_tokens,
        bytes_per_token: model.config.bytes_per_token,
        aliases: model.config.aliases.clone(),
        retires_at: model.config.retires_at.map(|RetiresAt(at)| at.div_euclid(1_000)),
        replaced_by: model.config.replaced_by.clone(),
    };
    let data = services.models().offered(services.clock.now()).map(model).collect();
    ModelList { object: ModelList::OBJECT.to_owned(), data }
}
