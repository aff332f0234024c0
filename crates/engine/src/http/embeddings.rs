//! `POST /v1/embeddings`.

use std::sync::Arc;

use axum::{
    extract::{State, rejection::BytesRejection},
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use tokio::sync::oneshot;

use super::{
    Engine, Ready, Serving, Vectors,
    errors::ApiError,
    preparing::{self, Client},
};
use crate::{
    api::Refusal,
    api::embeddings::{self, EmbeddingRequest, Input},
    clock::Stopwatch,
    embeddings::Job,
    model::Token,
    worker::Command,
};

/// Bytes of a number of a vector in an answer.
const NUMBER_BYTES: usize = 12;

/// Returns a vector for each input. A client that disconnects drops this future and with it the receiver, which cancels the request.
pub(super) async fn embed(
    State(engine): State<Arc<Engine>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let stopwatch = Stopwatch::start();
    let _seat = engine.seats.try_acquire().map_err(|_| ApiError::full())?;
    let vectors = vectors(engine.ready()?)?;
    let body = body.map_err(|rejection| ApiError::unreadable(&rejection))?;
    let (account, bytes, reading) = (preparing::account(&headers), body.len(), Arc::clone(&engine));
    let work = move |client: &Client| prepare(&reading, &body, client);
    let Prepared { inputs, shape } = preparing::convert(&engine, &account, bytes, work).await?;
    let prompt_tokens = inputs.iter().map(Vec::len).sum();
    let numbers = inputs.len() * vectors.width;
    let (respond, answer) = oneshot::channel();
    let job = Job { inputs, respond };
    vectors.commands.send(Command::Answer(Box::new(job))).map_err(|_| ApiError::ending())?;
    let answer = answer.await.map_err(|_| ApiError::ending())??;
    engine.metrics.observe_latency(stopwatch.elapsed());
    let rendering = Arc::clone(&engine);
    // Long lists of numbers take a while to write.
    let work = move |_: &Client| Ok(embeddings::render(&rendering.name, answer, prompt_tokens, shape));
    let written = preparing::convert(&engine, &account, numbers * NUMBER_BYTES, work).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], written).into_response())
}

fn vectors(ready: &Ready) -> Result<&Vectors, ApiError> {
    match &ready.serving {
        Serving::Embeddings(vectors) => Ok(vectors),
        Serving::Chat(_) => Err(ApiError::other_endpoint("a chat model", "/v1/chat/completions")),
    }
}

struct Prepared {
    inputs: Vec<Vec<Token>>,
    shape: embeddings::Shape,
}

/// Reading and tokenizing, which take time and no model. It blocks.
fn prepare(engine: &Engine, body: &[u8], client: &Client) -> Result<Prepared, ApiError> {
    let ready = engine.ready()?;
    let EmbeddingRequest { model, inputs, shape } =
        embeddings::parse(body, ready.vocabulary.token_count(), vectors(ready)?.width)?;
    if model != engine.name {
        return Err(ApiError::unknown_model(&model, &engine.name));
    }
    let inputs = inputs.into_iter().enumerate().map(|(place, input)| {
        client.check()?;
        Ok(tokenize(ready, place, input)?)
    });
    Ok(Prepared { inputs: inputs.collect::<Result<_, ApiError>>()?, shape })
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
