//! Health of the process.

use axum::extract::State;
use axum::response::Response;
use overnight_app::errors::AppError;

use super::answers;
use super::context::Shared;
use super::errors::Answer;

pub(super) const LIVE_PATH: &str = "/livez";
pub(super) const READY_PATH: &str = "/readyz";

/// Whether the path is a health path, which is served even without a permit for another connection.
pub(super) fn is_path(path: &str) -> bool {
    [LIVE_PATH, READY_PATH].contains(&path)
}

/// `GET /livez`: 200 while the process answers at all.
pub(super) async fn live() -> Response {
    answers::ok(|out| out.extend_from_slice(br#"{"status":"ok"}"#))
}

/// `GET /readyz`: 200 while every loop of the process makes progress, the store is available and the process is not stopping. Engines do
/// not count: their work waits. Nor does the disk's reserve: other nodes could not accept the refused creates either, and this one still
/// answers everything else.
pub(super) async fn ready(State(context): State<Shared>) -> Answer {
    if let Some(failure) = context.services.supervisor.trouble() {
        return Err(AppError::Unavailable(failure.to_string()).into());
    }
    if context.services.signals.is_stopping() {
        return Err(AppError::stopping().into());
    }
    match context.services.store.outage().await {
        None => Ok(live().await),
        Some(why) => Err(AppError::Unavailable(why.to_owned()).into()),
    }
}
