//! `POST /v1/chat/completions`.

use std::sync::Arc;

use axum::{
    Json,
    extract::{State, rejection::BytesRejection},
    http::HeaderMap,
};
use bytes::Bytes;
use tokio::sync::oneshot;

use super::{
    Chat, Engine, Ready, Serving,
    errors::ApiError,
    preparing::{self, Client},
};
use crate::{
    api::{self, ChatCompletion, ChatRequest, Heading, Refusal},
    clock::{Stopwatch, unix_seconds},
    constraint::{self, Form, Grammar, Grammars, Reviewed},
    model::Token,
    scheduler::Job,
    template,
    worker::Command,
};

/// Answers a conversation. A client that disconnects drops this future and with it the receiver, which cancels the request.
pub(super) async fn complete(
    State(engine): State<Arc<Engine>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<ChatCompletion>, ApiError> {
    let stopwatch = Stopwatch::start();
    let _seat = engine.seats.try_acquire().map_err(|_| ApiError::full())?;
    let ready = engine.ready()?;
    let chat = chat(ready)?;
    let body = body.map_err(|rejection| ApiError::unreadable(&rejection))?;
    let (account, reading) = (preparing::account(&headers), Arc::clone(&engine));
    let (bytes, own) = (body.len(), Arc::clone(&account));
    let work = move |client: &Client| prepare(&reading, &own, &body, client);
    let Prepared { request, prompt, form } = preparing::convert(&engine, &account, bytes, work).await?;
    let grammar = match form {
        None => None,
        Some(Sought::Kept(grammar)) => Some(grammar),
        Some(Sought::New(form)) => Some(compile(&engine, &chat.grammars, &account, form).await?),
    };
    let ChatRequest { salt, generation, calls, .. } = request;
    let shows_logprobs = generation.logprobs.is_some();
    let (respond, answer) = oneshot::channel();
    let job = Job { prompt: prompt.into(), salt, account, generation, grammar, respond };
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

struct Prepared {
    request: ChatRequest,
    prompt: Vec<Token>,
    form: Option<Sought>,
}

enum Sought {
    Kept(Arc<Grammar>),
    New(Reviewed),
}

/// Reading, rendering and tokenizing, and finding a form that the account used before. It blocks.
fn prepare(engine: &Engine, account: &str, body: &[u8], client: &Client) -> Result<Prepared, ApiError> {
    let ready = engine.ready()?;
    let chat = chat(ready)?;
    let mut request = api::parse(body, ready.vocabulary.token_count(), engine.seeds.next_seed())?;
    if request.model != engine.name {
        return Err(ApiError::unknown_model(&request.model, &engine.name));
    }
    let form = request.form.take().map(Form::review).transpose().map_err(Refusal::from)?;
    let sought = |form| chat.grammars.find(account, &form).map_or(Sought::New(form), Sought::Kept);
    let form = form.map(sought);
    let prompt = tokenize(ready, chat, &request, client)?;
    Ok(Prepared { request, prompt, form })
}

/// Compiles a new form in its account's turn: on trial first, then in this process.
async fn compile(
    engine: &Engine,
    grammars: &Arc<Grammars>,
    account: &Arc<str>,
    form: Reviewed,
) -> Result<Arc<Grammar>, ApiError> {
    let turn = engine.preparing.forms.wait(account).await;
    if let Some(grammar) = grammars.find(account, &form) {
        return Ok(grammar);
    }
    let bytes = constraint::try_out(&form).await?;
    let (grammars, account) = (Arc::clone(grammars), Arc::clone(account));
    let work = move |_: &Client| Ok(grammars.compile(&account, &form, bytes).map_err(Refusal::from)?);
    preparing::run(turn, work).await
}

fn tokenize(
    ready: &Ready,
    chat: &Chat,
    request: &ChatRequest,
    client: &Client,
) -> Result<Vec<Token>, ApiError> {
    client.check()?;
    let text = chat.template.render(&request.messages, &request.tools, &request.template_arguments)?;
    let context = ready.context;
    let bytes_max = context.saturating_mul(ready.vocabulary.longest_piece());
    if text.len() > bytes_max {
        return Err(Refusal::too_long(context, "more").into());
    }
    let tokens = |text: &str| {
        client.check()?;
        Ok::<_, ApiError>(ready.vocabulary.tokenize(&mut template::pieces(text)))
    };
    if begins_too_long(&text, context, |start| tokens(start).map(|found| found.len()))? {
        return Err(Refusal::too_long(context, "more").into());
    }
    let prompt = tokens(&text)?;
    if prompt.is_empty() {
        return Err(Refusal::of(
            "messages",
            "The model's chat template makes an empty prompt of the conversation.",
        )
        .into());
    }
    if prompt.len() >= context {
        return Err(Refusal::too_long(context, &prompt.len().to_string()).into());
    }
    Ok(prompt)
}

/// Bytes of a token in long texts. Few texts have more.
const TOKEN_BYTES: usize = 8;

/// Whether a text much longer than the context has too many tokens already in a beginning. So the time for a refusal depends on the
/// context, and not on the text. `count` tokenizes.
fn begins_too_long<E>(
    text: &str,
    context: usize,
    mut count: impl FnMut(&str) -> Result<usize, E>,
) -> Result<bool, E> {
    let mut bytes = context.saturating_mul(TOKEN_BYTES);
    while bytes < text.len() / 2 {
        // The end of a beginning may have some tokens that the whole text does not have.
        if count(&text[..text.floor_char_boundary(bytes)])? > context + context / 8 {
            return Ok(true);
        }
        bytes *= 2;
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::begins_too_long;

    /// Whether a text is refused, and the bytes that were counted; a token has `token_bytes`.
    fn refused(text: &str, context: usize, token_bytes: usize) -> (bool, usize) {
        let mut counted = 0;
        let refused = begins_too_long(text, context, |start| {
            counted += start.len();
            Ok::<_, Infallible>(start.len() / token_bytes)
        });
        (refused.unwrap_or_default(), counted)
    }

    #[test]
    fn a_long_text_is_refused_by_its_beginning() {
        assert_eq!(refused(&"é".repeat(1_000_000), 101, 4), (true, 808));
        assert_eq!(refused(&"é".repeat(1_000_000), 101, 32), (true, 808 * 15));
        assert_eq!(refused(&"a".repeat(1_000), 100, 1), (false, 0));
        assert_eq!(refused(&"a".repeat(5_000), 100, 64), (false, 800 + 1_600));
    }
}
