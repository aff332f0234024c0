//! The HTTP face: OpenAI's chat completions for whoever holds the key, and the engine's health for everybody.

mod chat;
mod errors;
mod guards;
mod pages;

use std::sync::{Arc, OnceLock};

use axum::{
    Router,
    extract::DefaultBodyLimit,
    middleware::{from_fn, from_fn_with_state},
    routing::{get, post},
};
use tokio::sync::{Semaphore, mpsc};

use self::errors::ApiError;
use crate::{
    chance::Seeds,
    constraint::Grammars,
    metrics::Metrics,
    model::{Capacity, Vocabulary},
    template::ChatTemplate,
    worker::Command,
};

/// The most bytes of a request's body.
pub const BODY_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The most requests in the house, running and waiting; one more is answered 503.
pub const REQUESTS_MAX: usize = 256;

/// What the routes share.
pub struct Engine {
    name: String,
    key: String,
    started_at: u64,
    seeds: Seeds,
    metrics: Arc<Metrics>,
    commands: mpsc::UnboundedSender<Command>,
    seats: Semaphore,
    ready: OnceLock<Ready>,
}

/// What is known once the model is loaded.
pub struct Ready {
    /// The model's vocabulary.
    pub vocabulary: Arc<dyn Vocabulary>,
    /// The model's chat template.
    pub template: ChatTemplate,
    /// How much it holds.
    pub capacity: Capacity,
    /// The compiler of forms.
    pub grammars: Grammars,
}

impl Engine {
    /// An engine that serves `name` to holders of `key`, and is loading.
    #[must_use]
    pub fn new(
        name: String,
        key: String,
        seeds: Seeds,
        metrics: Arc<Metrics>,
        commands: mpsc::UnboundedSender<Command>,
    ) -> Self {
        let started_at = crate::clock::unix_seconds();
        let seats = Semaphore::new(REQUESTS_MAX);
        Self { name, key, started_at, seeds, metrics, commands, seats, ready: OnceLock::new() }
    }

    /// From now on requests are taken; the second call does nothing.
    pub fn open(&self, ready: Ready) {
        let _ = self.ready.set(ready);
    }

    fn ready(&self) -> Result<&Ready, ApiError> {
        self.ready.get().ok_or_else(ApiError::loading)
    }
}

/// All routes.
pub fn router(engine: Arc<Engine>) -> Router {
    Router::new()
        .route("/v1/chat/completions", post(chat::complete))
        .route("/v1/models", get(pages::models))
        .route("/metrics", get(pages::metrics))
        .fallback(errors::unknown_path)
        .method_not_allowed_fallback(errors::wrong_method)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(from_fn(guards::bound_body))
        .layer(from_fn_with_state(Arc::clone(&engine), guards::require_key))
        .route("/health", get(pages::health))
        .with_state(engine)
}
