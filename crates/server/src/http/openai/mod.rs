//! The dialect under `/openai/v1`: the use cases of the native one, told as OpenAI's clients read them.

mod chat;
mod creation;
mod errors;
mod models;
mod streams;

use axum::Router;
use axum::routing::{get, post};

use super::context::Shared;
use super::dialects::Dialect;

/// OpenAI's dialect.
pub(super) const DIALECT: Dialect = Dialect::new("/openai/v1", errors::write).ignoring_queries();

/// Everything under `/openai/v1`.
pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/openai/v1/chat/completions", post(chat::create))
        .route("/openai/v1/models", get(models::list))
        .route("/openai/v1/models/{*model}", get(models::get))
}
