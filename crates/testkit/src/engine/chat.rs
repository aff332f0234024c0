//! `POST /v1/chat/completions` and similar endpoints: read, queue, compute, answer, unless a fault applies.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::{Request, Response};

use super::body::{self, Body, Break};
use super::completion::{Completion, mix, unit};
use super::driver::Refusal;
use super::faults::Fault;
use super::forms::Form;
use super::markers::Script;
use super::model::Job;
use super::prompt::ChatRequest;
use super::recorder::Ending;
use super::socket::{Gone, ResetFlag};
use super::state::{Command, Settings, State, Visit};
use crate::time;

/// The longest body that is read, in bytes.
const BODY_MAX: usize = 64 << 20;

pub(super) async fn complete(
    state: &Arc<State>,
    settings: &Settings,
    reset: &ResetFlag,
    request: Request<Incoming>,
) -> Result<Response<Body>, Gone> {
    let path = request.uri().path().to_owned();
    let Ok(body) = Limited::new(request.into_body(), BODY_MAX).collect().await else {
        return Ok(reject(state, 413, "the body is too long or broke off"));
    };
    let body = body.to_bytes();
    let (form, body) = match Form::read(&path, &body) {
        Ok(read) => read,
        Err(message) => return Ok(reject(state, 400, &message)),
    };
    let asked = match Asked::read(state, settings, &body) {
        Ok(asked) => asked.in_form(settings, form),
        Err((status, message)) => return Ok(reject(state, status, &message)),
    };
    let (fault, number, visit) = arrive(state, settings, &asked);
    if let Some(fault) = fault
        && let Some(struck) = strike(state, reset, fault, &body).await.transpose()
    {
        visit.end(Ending::Faulted);
        return struck;
    }
    let mut completion = asked.completion;
    let _visit_of_model = match settings.load_ms {
        Some(load_ms) => Some(state.holder.enter(asked.name, load_ms).await),
        None => None,
    };
    match compute(state, settings, &asked.request, &completion).await {
        Ok(cached_tokens) => completion.cached_tokens = cached_tokens,
        Err(Refusal::Full) => {
            visit.end(Ending::Refused);
            let response = body::error(settings.overload.status, "the engine's queue is full");
            return Ok(body::retry_after(response, settings.overload.retry_after_s));
        }
        Err(Refusal::TooLong) => {
            visit.end(Ending::Refused);
            return Ok(body::error(400, "the request is longer than the engine's whole cache"));
        }
    }
    let generated = completion.completion_tokens * completion.choices;
    state.metrics.count_completion(completion.prompt_tokens, generated, completion.finish_reason);
    let id = mix(state.config.seed ^ mix(number));
    let text = completion.render(id, time::unix_seconds(), asked.model, fault);
    Ok(answer(text.into(), fault, reset, visit))
}

fn reject(state: &State, status: u16, message: &str) -> Response<Body> {
    state.recorder.reject();
    body::error(status, message)
}

/// A well-formed request for a served model.
struct Asked<'a> {
    request: ChatRequest<'a>,
    script: Script,
    completion: Completion,
    name: &'a str,
    model: &'a str,
}

impl<'a> Asked<'a> {
    fn read(state: &State, settings: &'a Settings, body: &'a [u8]) -> Result<Self, (u16, String)> {
        let request = ChatRequest::parse(body).map_err(|message| (400, message))?;
        if request.cache_salt.is_some() && !settings.takes_cache_salt {
            return Err((400, "there is no field cache_salt".to_owned()));
        }
        if let Some(message) = settings.refusal_of_field(body) {
            return Err((400, message.to_owned()));
        }
        let Some(model) = settings.models.iter().find(|model| model.name == request.model) else {
            return Err((
                settings.unknown_model_status,
                format!("The model `{}` does not exist.", request.model),
            ));
        };
        let script = Script::parse(request.last_user_content()).map_err(|message| (400, message))?;
        let config = &state.config;
        let range = &config.completion_tokens;
        let mut completion = Completion::draw(&request, config.seed, range, script.completion_tokens);
        if settings.counts_one_choice {
            completion.counted_choices = 1;
        }
        if settings.ignores_fields {
            (completion.choices, completion.counted_choices, completion.has_logprobs) = (1, 1, false);
        }
        completion.said = script.says_it_back.then(|| request.last_user_content().to_owned());
        let tokens = completion.prompt_tokens.saturating_add(request.tokens_max().unwrap_or(1));
        if tokens > config.context_tokens {
            let longest = config.context_tokens;
            return Err((
                400,
                format!("This model's maximum context length is {longest} tokens; {tokens} were asked for."),
            ));
        }
        Ok(Self { request, script, completion, name: &model.name, model: &model.quoted })
    }
}

impl Asked<'_> {
    /// Sets the form of the answer, which may contain several texts.
    fn in_form(mut self, settings: &Settings, form: Form) -> Self {
        self.completion.choices *= form.texts();
        if !settings.counts_one_choice {
            self.completion.counted_choices *= form.texts();
        }
        self.completion.form = form;
        self
    }
}

/// Records the request, and chooses its fault: a marker's, else a drawn one.
fn arrive(state: &Arc<State>, settings: &Settings, asked: &Asked<'_>) -> (Option<Fault>, u64, Visit) {
    let digest = asked.completion.digest;
    let content = asked.request.last_user_content();
    let is_directed = asked.script.is_directed();
    let arrival = state.recorder.arrive(content, digest, state.config.recording, is_directed);
    let visit = Visit::begin(state);
    let fault = if is_directed {
        asked.script.fault(arrival.attempt)
    } else if settings.faults.is_empty() {
        None
    } else {
        let draw = mix(state.config.seed ^ mix(digest ^ mix(u64::from(arrival.attempt))));
        settings.faults.draw(unit(draw))
    };
    (fault, arrival.number, visit)
}

/// Applies a fault that needs no completion; `None` leaves it to the answer.
async fn strike(
    state: &State,
    reset: &ResetFlag,
    fault: Fault,
    body: &[u8],
) -> Result<Option<Response<Body>>, Gone> {
    match fault {
        Fault::Status { code, retry_after_s } => {
            let response = body::error(code, "a simulated error");
            Ok(Some(body::retry_after(response, retry_after_s)))
        }
        Fault::ResetBeforeHeaders => {
            reset.store(true, Relaxed);
            Err(Gone)
        }
        Fault::Hang => std::future::pending().await,
        Fault::Die { ms } => {
            let _ = state.commands.send(Command::Die { ms });
            std::future::pending().await
        }
        Fault::Delay { ms } => {
            time::sleep_ms(ms).await;
            Ok(None)
        }
        Fault::Canned(canned) => Ok(Some(body::canned(canned, canned.body))),
        Fault::Gzipped(canned) => Ok(Some(body::canned(canned, body::gzip(canned.body)))),
        Fault::Refusal(field, canned) if has_field(body, field) => {
            Ok(Some(body::canned(canned, canned.body)))
        }
        _ => Ok(None),
    }
}

fn has_field(body: &[u8], field: &str) -> bool {
    serde_json::from_slice::<serde_json::Value>(body).is_ok_and(|body| body.get(field).is_some())
}

/// Waits for a place and for the duration of the completion. Returns the prompt tokens found in the cache.
async fn compute(
    state: &State,
    settings: &Settings,
    request: &ChatRequest<'_>,
    completion: &Completion,
) -> Result<usize, Refusal> {
    let Some(driver) = &state.driver else {
        let _place = state.gate.enter(settings.waiting_max).await.ok_or(Refusal::Full)?;
        time::sleep_ms(settings.base_latency_ms).await;
        return Ok(0);
    };
    time::sleep_ms(settings.base_latency_ms).await;
    let job = Job {
        prompt_tokens: completion.prompt_tokens,
        block_hashes: request.block_hashes(),
        output_tokens: completion.completion_tokens,
        choices: completion.choices,
    };
    Ok(driver.complete(job, settings.waiting_max).await?.cached_tokens)
}

fn answer(text: Bytes, fault: Option<Fault>, reset: &ResetFlag, visit: Visit) -> Response<Body> {
    match fault {
        Some(Fault::ResetAfterHeaders) => {
            return body::broken(&text, Break::Reset(ResetFlag::clone(reset)), visit);
        }
        Some(Fault::TruncatedBody) => return body::broken(&text, Break::Close, visit),
        Some(Fault::HangMidBody) => return body::broken(&text, Break::Hang, visit),
        Some(Fault::Drip { pause_ms }) => return body::dripping(text, pause_ms, visit),
        _ => {}
    }
    visit.end(if fault.is_some() { Ending::Faulted } else { Ending::Answered });
    body::whole(200, "application/json", text)
}
