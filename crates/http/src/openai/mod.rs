//! The dialect under `/openai/v1`: the native use cases in the form of OpenAI's API.

mod batches;
mod chat;
mod completions;
mod content;
mod embeddings;
mod errors;
mod files;
mod forms;
mod ids;
mod models;
mod objects;
mod rates;
mod responses;
mod streams;
mod uploads;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};

use super::context::Shared;
use super::dialects::Dialect;

pub(super) const DIALECT: Dialect =
    Dialect { rate: Some(rates::RATE), ..Dialect::new("/openai/v1", errors::write).ignoring_queries() };

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/openai/v1/chat/completions", post(chat::create))
        .route("/openai/v1/completions", post(completions::create))
        .route("/openai/v1/embeddings", post(embeddings::create))
        .route("/openai/v1/responses", post(responses::create))
        .route("/openai/v1/responses/{response_id}", get(responses::get).delete(responses::delete))
        .route("/openai/v1/responses/{response_id}/cancel", post(responses::cancel))
        .route("/openai/v1/responses/{response_id}/input_items", get(responses::list_input_items))
        .route("/openai/v1/models", get(models::list))
        .route("/openai/v1/models/{*model}", get(models::get))
        .route("/openai/v1/files", get(files::list).post(files::create).layer(DefaultBodyLimit::disable()))
        .route("/openai/v1/files/{file_id}", get(files::get).delete(files::delete))
        .route("/openai/v1/files/{file_id}/content", get(content::get))
        .route("/openai/v1/uploads", post(uploads::create))
        .route(
            "/openai/v1/uploads/{upload_id}/parts",
            post(uploads::add_part).layer(DefaultBodyLimit::disable()),
        )
        .route("/openai/v1/uploads/{upload_id}/complete", post(uploads::complete))
        .route("/openai/v1/uploads/{upload_id}/cancel", post(uploads::cancel))
        .route("/openai/v1/batches", get(batches::list).post(batches::create))
        .route("/openai/v1/batches/{batch_id}", get(batches::get))
        .route("/openai/v1/batches/{batch_id}/cancel", post(batches::cancel))
}
