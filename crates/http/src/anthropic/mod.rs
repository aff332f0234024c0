//! The dialect under `/anthropic/v1`: the native use cases in the form of Anthropic's API.

mod batches;
mod creation;
mod errors;
mod messages;
mod models;
mod rates;

use axum::Router;
use axum::routing::{get, post};

use super::context::Shared;
use super::dialects::Dialect;

pub(super) const DIALECT: Dialect = Dialect {
    call_header: Some("request-id"),
    streamed_path: Some("/anthropic/v1/messages/batches"),
    rate: Some(rates::RATE),
    ..Dialect::new("/anthropic", errors::write).ignoring_queries()
};

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/anthropic/v1/messages", post(messages::create))
        .route("/anthropic/v1/messages/batches", get(batches::list).post(creation::create))
        .route("/anthropic/v1/messages/batches/{batch_id}", get(batches::get).delete(batches::delete))
        .route("/anthropic/v1/messages/batches/{batch_id}/cancel", post(batches::cancel))
        .route("/anthropic/v1/messages/batches/{batch_id}/results", get(batches::results))
        .route("/anthropic/v1/models", get(models::list))
        .route("/anthropic/v1/models/{*model}", get(models::get))
}
