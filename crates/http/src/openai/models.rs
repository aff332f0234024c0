//! Models, as OpenAI lists them.

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::Response;
use overnight_app::errors::AppError;

use crate::answers;
use crate::context::Shared;
use crate::errors::Answer;
use crate::native::{list_models, models_of};

pub(super) async fn list(state: State<Shared>) -> Response {
    list_models(state).await
}

/// Its name or alias may contain slashes.
pub(super) async fn get(State(context): State<Shared>, name: Result<Path<String>, PathRejection>) -> Answer {
    let name = name.map(|Path(name)| name).unwrap_or_default();
    let model = models_of(&context.services).data.into_iter().find(|model| model.has_name(&name));
    let model = model.ok_or(AppError::NotFound("model"))?;
    // Writing to memory cannot fail.
    Ok(answers::ok(|out| drop(serde_json::to_writer(out, &model))))
}
