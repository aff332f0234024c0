//! The dialect under `/exxa/v1`: the native use cases in the form that published clients of that service read.

mod batches;
mod requests;

use axum::Router;
use axum::http::HeaderValue;
use axum::routing::{get, post};

use super::context::Shared;
use super::dialects::Dialect;
use super::errors::write_envelope;
use super::native::list_models;

/// These clients read errors in the native envelope.
pub(super) const DIALECT: Dialect = Dialect::new("/exxa/v1", write_envelope);

/// The media type of JSON Lines here. Without the charset, a common library reads Latin-1.
const LINES: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/exxa/v1/requests", get(requests::list).post(requests::create))
        .route("/exxa/v1/requests/{request_id}", get(requests::get))
        .route("/exxa/v1/requests/{request_id}/status", get(requests::get_status))
        .route("/exxa/v1/requests/{request_id}/cancel", post(requests::cancel))
        .route("/exxa/v1/batches", get(batches::list).post(batches::create))
        .route("/exxa/v1/batches/{batch_id}", get(batches::get))
        .route("/exxa/v1/batches/{batch_id}/status", get(batches::get_status))
        .route("/exxa/v1/batches/{batch_id}/requests", get(batches::get_requests))
        .route("/exxa/v1/batches/{batch_id}/results", get(batches::get_results))
        .route("/exxa/v1/batches/{batch_id}/cancel", post(batches::cancel))
        .route("/exxa/v1/models", get(list_models))
}
