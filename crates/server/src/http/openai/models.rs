//! Models, as OpenAI lists them.

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::Response;

use crate::app::errors::AppError;
use crate::http::answers;
use crate::http::context::Shared;
use crate::http::errors::Answer;
use crate::http::native::{list_models, models_of};

/// List models.
pub(super) async fn list(state: State<Shared>) -> Response {
    list_models(state).await
}

/// Retrieve a model, by its name or an alias. Its name may have slashes.
pub(super) async fn get(State(context): State<Shared>, name: Result<Path<String>, PathRejection>) -> Answer {
    let name = name.map(|Path(name)| name).unwrap_or_default();
    let model = models_of(&context.services).data.into_iter().find(|model| model.has_name(&name));
    let model = model.ok_or(AppError::NotFound("model"))?;
    // Writing to memory cannot fail.
    Ok(answers::ok(|out| drop(serde_json::to_writer(out, &model))))
}
