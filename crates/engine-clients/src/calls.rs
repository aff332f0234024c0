//! Calls of an engine, and the meaning of its answers.

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderName, HeaderValue, LOCATION};
use hyper::{Method, Response};
use hyper_util::client::legacy::Error as ClientError;
use overnight_domain::answers::{BadCompletion, Completion, Reader, Warning};
use overnight_domain::bodies::ANSWER_BYTES_MAX;
use overnight_domain::chat::{CacheSalt, LimitField, choices_asked, engine_body, output_limit};
use overnight_domain::endpoint_rules::parse_answer;
use overnight_domain::endpoints::Endpoint;
use overnight_domain::scheduler::AttemptError;
use overnight_outgoing::transport::{
    Undecoded, Unread, decode, in_words, printable, read_start, read_whole, retry_after,
};

use super::client::{Asked, EngineClient, request};
use super::limit_fields::refuses;
use super::refusal::{self, Refusal};
use super::target::Target;
use super::unreadable::beginning_of;

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const ACCOUNT: HeaderName = HeaderName::from_static("overnight-account");

/// Bytes of an error answer that are read.
const REFUSAL_BYTES_MAX: usize = 64 << 10;

/// How long the body of an error answer is waited for; its status is known by then.
const REFUSAL_WAIT_MS: i64 = 5_000;

impl EngineClient {
    /// Makes an attempt. If the engine refuses the name of the output limit, the attempt is repeated with the other name, which later
    /// attempts use first. If calls of the replica count against configured limits, [`AttemptError::LimitRefused`] asks for the repetition.
    pub(super) async fn attempt(&self, asked: Asked<'_>) -> Result<Completion, AttemptError> {
        let learnt = match asked.endpoint {
            Endpoint::ChatCompletions => self.limit_fields.get(asked.model),
            // These endpoints have one name for it.
            Endpoint::Completions | Endpoint::Embeddings => Some(LimitField::MaxTokens),
        };
        let limit = output_limit(asked.body);
        let used = limit.map(|(field, _)| field).or(asked.max_tokens.map(|_| LimitField::MaxTokens));
        let sent = learnt.or(used);
        let outcome = self.call(asked, sent).await;
        let (Some(sent), Endpoint::ChatCompletions) = (sent.filter(|_| used.is_some()), asked.endpoint)
        else {
            return outcome;
        };
        match &outcome {
            Err(AttemptError::Status { code: 400 | 422, message, .. }) if refuses(message, sent) => {}
            Ok(completion) => {
                let most = || {
                    let choices = u64::from(choices_asked(asked.body));
                    limit.map_or(u64::MAX, |(_, limit)| limit.saturating_mul(choices))
                };
                if sent == LimitField::MaxCompletionTokens && completion.usage.completion_tokens > most() {
                    // The engine ignores the field, whatever earlier refusals said.
                    self.limit_fields.set(asked.model, Some(LimitField::MaxTokens));
                }
                return outcome;
            }
            Err(_) => return outcome,
        }
        if self.config.counts_calls() {
            // The engine refuses the known name too, and thus both.
            let is_new = learnt != Some(sent);
            self.limit_fields.set(asked.model, is_new.then_some(sent.other()));
            return if is_new { Err(AttemptError::LimitRefused) } else { outcome };
        }
        // Boxed, because it is rare and would enlarge every attempt.
        let again = Box::pin(self.call(asked, Some(sent.other()))).await;
        match &again {
            Err(AttemptError::Status { code: 400 | 422, message, .. }) if refuses(message, sent.other()) => {
                outcome
            }
            Ok(_) => {
                self.limit_fields.set(asked.model, Some(sent.other()));
                again
            }
            Err(_) => again,
        }
    }

    async fn call(&self, asked: Asked<'_>, field: Option<LimitField>) -> Result<Completion, AttemptError> {
        let Asked { endpoint, model, max_tokens, cache_salt, is_charged, body: stored, .. } = asked;
        self.served.note_asked(model, endpoint);
        let body = engine_body(stored, self.engine_model(model), max_tokens, field, cache_salt).into_string();
        let target = self.target().await.map_err(AttemptError::Connect)?;
        if let Some(message) = target.lacks(endpoint) {
            return Err(AttemptError::NotServed(None, message));
        }
        let mut request = request(Method::POST, target.endpoint(endpoint), &target, body.into());
        let account =
            asked.account.filter(|_| self.embedded_state().is_some()).map(CacheSalt::render_account);
        for (name, value) in [(TRACEPARENT, asked.traceparent), (ACCOUNT, account.as_deref())] {
            if let Some(value) = value.and_then(|text| HeaderValue::try_from(text).ok()) {
                request.headers_mut().insert(name, value);
            }
        }
        let response = self.transport.send(request).await.map_err(|error| broken(&error))?;
        if !response.status().is_success() {
            return Err(Box::pin(self.refused(response, &target, asked.is_probe)).await);
        }
        let (head, body) = response.into_parts();
        let answer = read_whole(body, ANSWER_BYTES_MAX).await.map_err(|unread| match unread {
            Unread::TooLong => too_long(),
            Unread::Broken(error) => AttemptError::Reset(in_words(&error)),
        })?;
        let answer = self.decoded(&head.headers, answer, asked)?;
        let reader = Reader { client_model: model, is_charged, shares_cache: cache_salt.is_none() };
        let completion = parse_answer(endpoint, stored, &answer, reader)
            .map_err(|bad| self.judge(&bad, asked, &head.headers, &answer, &target))?;
        self.served.note_answered(model, endpoint);
        if is_charged && completion.warnings.iter().any(|warning| warning.param == Warning::USAGE) {
            self.zero_usage.call_once(|| {
                let engine = &self.config.name;
                tracing::warn!(
                    engine,
                    model,
                    "engine counts 0 tokens in answers with a text; they are charged as it counts, and this is logged once"
                );
            });
        }
        Ok(completion)
    }

    fn decoded(&self, headers: &HeaderMap, answer: Bytes, asked: Asked<'_>) -> Result<Bytes, AttemptError> {
        decode(headers, answer, ANSWER_BYTES_MAX).map_err(|undecoded| match undecoded {
            Undecoded::TooLong => too_long(),
            Undecoded::Damaged(start) => {
                self.log_unreadable(asked, &start);
                AttemptError::NotACompletion("the engine's answer is compressed, and damaged".to_owned())
            }
            Undecoded::Unknown(encoding) => AttemptError::NotACompletion(printable(&format!(
                "the engine answered in the encoding `{encoding}`, which it was not asked for"
            ))),
        })
    }

    /// The error for a 200 that is not a completion.
    fn judge(
        &self,
        bad: &BadCompletion,
        asked: Asked<'_>,
        headers: &HeaderMap,
        answer: &[u8],
        target: &Target,
    ) -> AttemptError {
        let words = printable(&target.conceal(bad.to_string()));
        match bad {
            BadCompletion::NotACompletion(_) => {
                self.log_unreadable(asked, target.conceal(beginning_of(answer)).as_bytes());
                AttemptError::NotACompletion(words)
            }
            BadCompletion::Aborted(_) => AttemptError::Aborted(words),
            BadCompletion::NoUsage(_) => AttemptError::NoUsage(words),
            BadCompletion::Reported { status: code, .. } => {
                let code = *code;
                let retry_after_ms = retry_after::read_answer(headers, code, answer, self.clock.now());
                AttemptError::Status { code, message: words, retry_after_ms }
            }
        }
    }

    fn log_unreadable(&self, asked: Asked<'_>, answer: &[u8]) {
        if let Some(kept_back) = self.odd_answers.pass(self.clock.now()) {
            let (engine, model, answer) = (&self.config.name, asked.model, beginning_of(answer));
            tracing::warn!(
                engine,
                model,
                kept_back,
                answer,
                "engine answer is not a completion; its attempt failed"
            );
        }
    }

    async fn refused(&self, response: Response<Incoming>, target: &Target, is_probe: bool) -> AttemptError {
        let status = response.status();
        let location = response.headers().get(LOCATION).filter(|_| status.is_redirection());
        let location = location.map(|to| target.conceal(String::from_utf8_lossy(to.as_bytes()).into_owned()));
        let Refusal { code, mut message, retry_after_ms } = self.read_refusal(response, target).await;
        if let Some(location) = location.as_deref().map(printable) {
            message = "the engine redirects to another address; the operator has to correct its `base_url`"
                .to_owned();
            if is_probe {
                message = format!("the engine redirects to {location}; its `base_url` has to be corrected");
            } else if let Some(kept_back) = self.odd_answers.pass(self.clock.now()) {
                let engine = &self.config.name;
                tracing::warn!(
                    engine,
                    code,
                    location,
                    kept_back,
                    "engine redirects; its `base_url` has to be corrected"
                );
            }
        }
        AttemptError::Status { code, message, retry_after_ms }
    }

    pub(super) async fn read_refusal(&self, response: Response<Incoming>, target: &Target) -> Refusal {
        let (head, body) = response.into_parts();
        let mut start = Vec::new();
        tokio::select! {
            () = read_start(body, &mut start, REFUSAL_BYTES_MAX) => {}
            () = self.clock.sleep_until(self.clock.now().saturating_add(REFUSAL_WAIT_MS)) => {}
        }
        let start = match decode(&head.headers, start.into(), REFUSAL_BYTES_MAX) {
            Ok(start) | Err(Undecoded::Damaged(start)) => start,
            Err(Undecoded::TooLong | Undecoded::Unknown(_)) => Bytes::new(),
        };
        let code = head.status.as_u16();
        let retry_after_ms = retry_after::read_answer(&head.headers, code, &start, self.clock.now());
        Refusal { code, message: target.conceal(refusal::message(head.status, &start)), retry_after_ms }
    }
}

pub(super) fn too_long() -> AttemptError {
    AttemptError::TooLong(format!("the engine's answer is longer than {} MiB", ANSWER_BYTES_MAX >> 20))
}

fn broken(error: &ClientError) -> AttemptError {
    if error.is_connect() {
        AttemptError::Connect(in_words(error))
    } else {
        AttemptError::Reset(in_words(error))
    }
}
