//! The HTTP server: OpenAI's chat completions or embeddings for holders of the key, and the engine's health for everyone.

mod chat;
mod embeddings;
mod errors;
mod guards;
mod pages;
mod preparing;

use std::sync::{Arc, OnceLock};

use axum::{
    Router,
    extract::DefaultBodyLimit,
    middleware::{from_fn, from_fn_with_state},
    routing::{get, post},
};
use tokio::sync::{Semaphore, mpsc};

pub use self::preparing::PREPARING_THREADS;
use self::{errors::ApiError, preparing::Preparing};
use crate::{
    chance::Seeds, constraint::Grammars, embeddings as vectors, metrics::Metrics, model::Vocabulary,
    scheduler, template::Renderer, worker::Command,
};

pub const BODY_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Requests that run or wait; further ones are answered 503.
pub const REQUESTS_MAX: usize = 256;

pub struct Engine {
    name: String,
    key: String,
    started_at: u64,
    seeds: Seeds,
    metrics: Arc<Metrics>,
    seats: Semaphore,
    preparing: Preparing,
    ready: OnceLock<Ready>,
}

/// Known once the model is loaded.
pub struct Ready {
    pub vocabulary: Arc<dyn Vocabulary>,
    /// Tokens of one request or input.
    pub context: usize,
    pub serving: Serving,
}

/// The model's purpose, with the data of its route.
pub enum Serving {
    Chat(Box<Chat>),
    Embeddings(Vectors),
}

pub struct Chat {
    pub template: Renderer,
    pub grammars: Arc<Grammars>,
    pub commands: mpsc::UnboundedSender<Command<scheduler::Job>>,
}

/// A model whose answers are vectors.
pub struct Vectors {
    pub width: usize,
    pub commands: mpsc::UnboundedSender<Command<vectors::Job>>,
}

impl Engine {
    /// An engine that serves `name` to holders of `key`, and is loading.
    #[must_use]
    pub fn new(name: String, key: String, seeds: Seeds, metrics: Arc<Metrics>) -> Self {
        let started_at = crate::clock::unix_seconds();
        let seats = Semaphore::new(REQUESTS_MAX);
        let preparing = Preparing::default();
        Self { name, key, started_at, seeds, metrics, seats, preparing, ready: OnceLock::new() }
    }

    /// Accepts requests from now on; a second call has no effect.
    pub fn open(&self, ready: Ready) {
        let _ = self.ready.set(ready);
    }

    /// Ends the computing thread after the current step, if it has begun.
    pub fn stop(&self) {
        // If the send fails, nothing computes any more.
        let _ = self.ready.get().map(|ready| match &ready.serving {
            Serving::Chat(chat) => chat.commands.send(Command::Stop).is_ok(),
            Serving::Embeddings(vectors) => vectors.commands.send(Command::Stop).is_ok(),
        });
    }

    fn ready(&self) -> Result<&Ready, ApiError> {
        self.ready.get().ok_or_else(ApiError::loading)
    }
}

pub fn router(engine: Arc<Engine>) -> Router {
    Router::new()
        .route("/v1/chat/completions", post(chat::complete))
        .route("/v1/embeddings", post(embeddings::embed))
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
