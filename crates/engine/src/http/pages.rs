//! Read-only pages: health, models, metrics.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use super::{Engine, errors::ApiError};

/// 200 once the model is loaded, 503 before.
pub(super) async fn health(State(engine): State<Arc<Engine>>) -> Result<Json<Value>, ApiError> {
    engine.ready()?;
    Ok(Json(json!({ "status": "ok" })))
}

/// The one model, in OpenAI's list; `max_model_len` is vLLM's name for the context.
pub(super) async fn models(State(engine): State<Arc<Engine>>) -> Result<Json<Value>, ApiError> {
    let model = json!({
        "id": engine.name,
        "object": "model",
        "created": engine.started_at,
        "owned_by": "overnight",
        "max_model_len": engine.ready()?.context,
    });
    Ok(Json(json!({ "object": "list", "data": [model] })))
}

/// In the Prometheus text format.
pub(super) async fn metrics(State(engine): State<Arc<Engine>>) -> Response {
    let page = engine.metrics.render(&engine.name);
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], page).into_response()
}
