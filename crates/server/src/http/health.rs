//! Whether the process lives, and whether it takes work.

use axum::extract::State;
use axum::response::Response;

use super::answers;
use super::context::Shared;
use super::errors::Answer;
use crate::app::errors::AppError;

/// Where these are asked.
pub(super) const LIVE_PATH: &str = "/livez";
pub(super) const READY_PATH: &str = "/readyz";

/// Whether the path is one of them: what is served even where there is no permit for another connection.
pub(super) fn is_path(path: &str) -> bool {
    [LIVE_PATH, READY_PATH].contains(&path)
}

/// `GET /livez`: 200 while the process answers at all.
pub(super) async fn live() -> Response {
    answers::ok(|out| out.extend_from_slice(br#"{"status":"ok"}"#))
}

/// `GET /readyz`: 200 while every loop of the process makes progress, the store is
/// available and the process was not told to stop. Engines do not count: what they
/// cannot do now waits. Nor does the reserve of the disk: no other node could take the creates that it refuses, and this one
/// still answers everything else.
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
