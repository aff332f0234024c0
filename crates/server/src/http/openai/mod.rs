//! The dialect under `/openai/v1`: files, and batches that are made of them.

mod batches;
mod content;
mod files;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};

use super::context::Shared;

/// Everything under `/openai/v1`.
pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/openai/v1/files", get(files::list).post(files::create).layer(DefaultBodyLimit::disable()))
        .route("/openai/v1/files/{file_id}", get(files::get).delete(files::delete))
        .route("/openai/v1/files/{file_id}/content", get(content::get))
        .route("/openai/v1/batches", get(batches::list).post(batches::create))
        .route("/openai/v1/batches/{batch_id}", get(batches::get))
        .route("/openai/v1/batches/{batch_id}/cancel", post(batches::cancel))
}
