//! `POST /v1/chat/completions`.

use std::sync::Arc;

use axum::{
    Json,
    extract::{State, rejection::BytesRejection},
};
use bytes::Bytes;
use tokio::{sync::oneshot, task::spawn_blocking};

use super::{Chat, Engine, Ready, Serving, errors::ApiError};
use crate::{
    api::{self, ChatCompletion, ChatRequest, Heading, Refusal},
    clock::{Stopwatch, unix_seconds},
    constraint::Grammar,
    model::Token,
    scheduler::Job,
    worker::Command,
};

/// Answers a conversation. A client that leaves drops this future and with it the receiver, which cancels the request.
pub(super) async fn complete(
    State(engine): State<Arc<Engine>>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<ChatCompletion>, ApiError> {
    let stopwatch = Stopwatch::start();
    let _seat = engine.seats.try_acquire().map_err(|_| ApiError::full())?;
    let ready = engine.ready()?;
    let chat = chat(ready)?;
    let body = body.map_err(|rejection| ApiError::unreadable(&rejection))?;
    let preparing = Arc::clone(&engine);
    let prepared = spawn_blocking(move || prepare(&preparing, &body)).await;
    let Prepared { request, prompt, grammar } = prepared.map_err(|_| ApiError::broken())??;
    let ChatRequest { generation, calls, .. } = request;
    let shows_logprobs = generation.logprobs.is_some();
    let (respond, answer) = oneshot::channel();
    let job = Job { prompt: prompt.into(), generation, grammar, respond };
    chat.commands.send(Command::Answer(Box::new(job))).map_err(|_| ApiError::ending())?;
    let completion = answer.await.map_err(|_| ApiError::ending())??;
    engine.metrics.observe_latency(stopwatch.elapsed());
    let id = format!("chatcmpl-{:016x}{:016x}", engine.seeds.next_seed(), engine.seeds.next_seed());
    let heading = Heading { id, created: unix_seconds(), model: engine.name.clone(), shows_logprobs, calls };
    Ok(Json(api::render(heading, completion, ready.vocabulary.as_ref())))
}

fn chat(ready: &Ready) -> Result<&Chat, ApiError> {
    match &ready.serving {
        Serving::Chat(chat) => Ok(chat),
        Serving::Embeddings(_) => Err(ApiError::other_endpoint("an embedding model", "/v1/embeddings")),
    }
}

/// A request that can be computed.
struct Prepared {
    request: ChatRequest,
    prompt: Vec<Token>,
    grammar: Option<Arc<Grammar>>,
}

/// Everything that takes time and no model: reading, rendering, tokenizing, compiling. Runs where it may block.
fn prepare(engine: &Engine, body: &[u8]) -> Result<Prepared, ApiError> {
    let ready = engine.ready()?;
    let chat = chat(ready)?;
    let request = api::parse(body, ready.vocabulary.token_count(), engine.seeds.next_seed())?;
    if request.model != engine.name {
        return Err(ApiError::unknown_model(&request.model, &engine.name));
    }
    let prompt = tokenize(ready, chat, &request)?;
    let grammar = request.form.as_ref().map(|form| chat.grammars.compile(form)).transpose();
    Ok(Prepared { grammar: grammar.map_err(Refusal::from)?, request, prompt })
}

fn tokenize(ready: &Ready, chat: &Chat, request: &ChatRequest) -> Result<Vec<Token>, Refusal> {
    let text = chat.template.render(&request.messages, &request.tools, &request.template_arguments).map_err(
        |objection| {
            let words = objection.detail().map_or_else(|| objection.kind().to_string(), str::to_owned);
            Refusal::of("messages", format!("The model's chat template refuses the conversation: {words}."))
        },
    )?;
    let context = ready.context;
    let bytes_max = context.saturating_mul(ready.vocabulary.longest_piece());
    if text.len() > bytes_max {
        return Err(Refusal::too_long(context, "more"));
    }
    let prompt = ready.vocabulary.tokenize(&text);
    if prompt.is_empty() {
        return Err(Refusal::of(
            "messages",
            "The model's chat template makes an empty prompt of the conversation.",
        ));
    }
    if prompt.len() >= context {
        return Err(Refusal::too_long(context, &prompt.len().to_string()));
    }
    Ok(prompt)
}
