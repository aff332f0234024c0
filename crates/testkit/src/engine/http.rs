//! The routes of the engine.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::AUTHORIZATION;
use hyper::{Method, Request, Response};

use super::body::{self, Body};
use super::socket::{Gone, ResetFlag};
use super::state::{Settings, State};
use super::{chat, report};
use crate::time;

pub(super) async fn route(
    state: Arc<State>,
    reset: ResetFlag,
    request: Request<Incoming>,
) -> Result<Response<Body>, Gone> {
    let settings = state.tunables();
    let path = request.uri().path();
    let wanted = match path {
        path if settings.missing_paths.contains(&path) => return Ok(body::error(404, "Not Found")),
        "/v1/chat/completions" | "/v1/completions" | "/v1/embeddings" => Method::POST,
        "/v1/models" | "/health" | "/metrics" => Method::GET,
        _ => return Ok(body::error(404, "Not Found")),
    };
    if *request.method() != wanted {
        return Ok(body::error(405, "Method Not Allowed"));
    }
    if path.starts_with("/v1/") && !is_authorized(&settings, &request) {
        state.recorder.reject();
        return Ok(body::error(401, "Unauthorized"));
    }
    Ok(match path {
        "/v1/models" if settings.owned_by.is_none() => body::error(404, "Not Found"),
        "/v1/models" => body::whole(200, "application/json", list_models(&state, &settings)),
        "/health" if settings.is_healthy => body::whole(200, "text/plain", ""),
        "/health" => body::error(503, "the engine is unwell"),
        "/metrics" if settings.reports_metrics => {
            body::whole(200, "text/plain; version=0.0.4; charset=utf-8", report::render(&state))
        }
        "/metrics" => body::error(404, "Not Found"),
        _ => {
            if let Some(header) = request.headers().get("traceparent").and_then(|it| it.to_str().ok()) {
                state.recorder.note_traceparent(header);
            }
            return chat::complete(&state, &settings, &reset, request).await;
        }
    })
}

fn is_authorized(settings: &Settings, request: &Request<Incoming>) -> bool {
    let Some(wanted) = &settings.authorization else { return true };
    request.headers().get(AUTHORIZATION).is_some_and(|sent| sent.as_bytes() == wanted.as_bytes())
}

fn list_models(state: &State, settings: &Settings) -> String {
    let created = time::unix_seconds();
    let context = settings.lists_context.then_some(state.config.context_tokens);
    let models = settings.models.iter().map(|model| {
        let mut listed = serde_json::json!({
            "id": model.name, "object": "model", "created": created, "owned_by": settings.owned_by,
            "root": model.name, "parent": null, "max_model_len": context,
        });
        if settings.load_ms.is_some() {
            let value = if state.holder.holds(&model.name) { "loaded" } else { "unloaded" };
            listed["status"] = serde_json::json!({"value": value});
        }
        listed
    });
    serde_json::json!({"object": "list", "data": models.collect::<Vec<_>>()}).to_string()
}
