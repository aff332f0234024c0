//! `POST /v1/embeddings`.

use std::sync::Arc;

use axum::{
    extract::{State, rejection::BytesRejection},
    http::header,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use tokio::{sync::oneshot, task::spawn_blocking};

use super::{Engine, Ready, Serving, Vectors, errors::ApiError};
use crate::{
    api::Refusal,
    api::embeddings::{self, EmbeddingRequest, Input},
    clock::Stopwatch,
    embeddings::Job,
    model::Token,
    worker::Command,
};

/// Answers with a vector for each input. A client that leaves drops this future and with it the receiver, which cancels the request.
pub(super) async fn embed(
    State(engine): State<Arc<Engine>>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let stopwatch = Stopwatch::start();
    let _seat = engine.seats.try_acquire().map_err(|_| ApiError::full())?;
    let vectors = vectors(engine.ready()?)?;
    let body = body.map_err(|rejection| ApiError::unreadable(&rejection))?;
    let preparing = Arc::clone(&engine);
    let prepared = spawn_blocking(move || prepare(&preparing, &body)).await;
    let Prepared { inputs, shape } = prepared.map_err(|_| ApiError::broken())??;
    let prompt_tokens = inputs.iter().map(Vec::len).sum();
    let (respond, answer) = oneshot::channel();
    let job = Job { inputs, respond };
    vectors.commands.send(Command::Answer(Box::new(job))).map_err(|_| ApiError::ending())?;
    let answer = answer.await.map_err(|_| ApiError::ending())??;
    engine.metrics.observe_latency(stopwatch.elapsed());
    let rendering = Arc::clone(&engine);
    // Long lists of numbers take a while to write.
    let written = spawn_blocking(move || embeddings::render(&rendering.name, answer, prompt_tokens, shape));
    let written = written.await.map_err(|_| ApiError::broken())?;
    Ok(([(header::CONTENT_TYPE, "application/json")], written).into_response())
}

fn vectors(ready: &Ready) -> Result<&Vectors, ApiError> {
    match &ready.serving {
        Serving::Embeddings(vectors) => Ok(vectors),
        Serving::Chat(_) => Err(ApiError::other_endpoint("a chat model", "/v1/chat/completions")),
    }
}

/// A request that can be computed.
struct Prepared {
    inputs: Vec<Vec<Token>>,
    shape: embeddings::Shape,
}

/// Reading and tokenizing, which take time and no model. Runs where it may block.
fn prepare(engine: &Engine, body: &[u8]) -> Result<Prepared, ApiError> {
    let ready = engine.ready()?;
    let EmbeddingRequest { model, inputs, shape } =
        embeddings::parse(body, ready.vocabulary.token_count(), vectors(ready)?.width)?;
    if model != engine.name {
        return Err(ApiError::unknown_model(&model, &engine.name));
    }
    let inputs = inputs.into_iter().enumerate().map(|(place, input)| tokenize(ready, place, input));
    Ok(Prepared { inputs: inputs.collect::<Result<_, _>>()?, shape })
}

fn tokenize(ready: &Ready, place: usize, input: Input) -> Result<Vec<Token>, Refusal> {
    let tokens = match input {
        Input::Tokens(tokens) => tokens,
        Input::Text(text) => {
            let bytes_max = ready.context.saturating_mul(ready.vocabulary.longest_piece());
            if text.len() > bytes_max {
                return Err(embeddings::too_long(place, ready.context, "more"));
            }
            ready.vocabulary.tokenize_input(&text)
        }
    };
    match tokens.len() {
        0 => Err(embeddings::empty(place)),
        length if length > ready.context => {
            Err(embeddings::too_long(place, ready.context, &length.to_string()))
        }
        _ => Ok(tokens),
    }
}
