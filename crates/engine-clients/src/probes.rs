//! Whether a replica works: a tiny completion that any engine can give, or another answer of an engine that does not chat.

use overnight_domain::answers::Completion;
use overnight_domain::endpoints::Endpoint;
use overnight_domain::json::Json;
use overnight_domain::scheduler::{AttemptError, ProbeOutcome};

use super::client::{Asked, EngineClient};
use super::limit_fields::is_about_limit;
use super::served::says_nothing_is_there;

/// Long, because a working engine may be busy with long prompts.
const PROBE_TIMEOUT_MS: i64 = 60_000;

const fn probe_body(endpoint: Endpoint) -> &'static [u8] {
    match endpoint {
        Endpoint::ChatCompletions => br#"{"model":"","messages":[{"role":"user","content":"Hi"}]}"#,
        Endpoint::Completions => br#"{"model":"","prompt":"Hi"}"#,
        Endpoint::Embeddings => br#"{"model":"","input":"Hi"}"#,
    }
}

impl EngineClient {
    /// Asks the engine for one token of `model` (our name); if that endpoint does not exist, for what else the model was asked for. The
    /// replica is healthy if it answers, or refuses the request itself (400, 413, 422), which it then has read, unless it does not list the
    /// model. It may have been replaced during a pause, so its list of models is requested first. If the model `is_charged`, an answer
    /// without a usage fails the probe, because every request would fail.
    pub async fn probe(&self, model: &str, is_charged: bool) -> ProbeOutcome {
        let limit_ms = self.config.request_timeout.0.min(PROBE_TIMEOUT_MS);
        self.probe_within(model, is_charged, limit_ms).await
    }

    /// The same, with a limit for each answer, in milliseconds.
    pub(super) async fn probe_within(&self, model: &str, is_charged: bool, limit_ms: i64) -> ProbeOutcome {
        // It may have been listed since.
        if self.known_models.lacks(self.engine_model(model)) {
            self.learn_models().await;
        }
        let outcome = self.probe_endpoints(model, is_charged, limit_ms).await;
        let works = matches!(outcome, ProbeOutcome::Healthy | ProbeOutcome::Refused { .. });
        if works && self.config.openai().is_some() {
            self.learn_models().await;
        }
        outcome
    }

    /// The outcome of the first endpoint that exists, or of the likeliest if none does.
    async fn probe_endpoints(&self, model: &str, is_charged: bool, limit_ms: i64) -> ProbeOutcome {
        let target = match self.target().await {
            Ok(target) => target,
            Err(why) => return ProbeOutcome::Failed(why),
        };
        let endpoints = target.only.map_or_else(|| self.served.to_probe(model), |only| vec![only]);
        let mut first = None;
        for endpoint in endpoints {
            match self.probe_once(model, endpoint, is_charged, limit_ms).await {
                Ok(outcome) => return outcome,
                Err(outcome) => drop(first.get_or_insert(outcome)),
            }
        }
        first.unwrap_or_else(|| ProbeOutcome::Failed("there is nothing to probe".to_owned()))
    }

    /// The outcome; an error if the endpoint may not exist.
    async fn probe_once(
        &self,
        model: &str,
        endpoint: Endpoint,
        is_charged: bool,
        limit_ms: i64,
    ) -> Result<ProbeOutcome, ProbeOutcome> {
        let body = Json::from_stored(probe_body(endpoint)).expect("the probe is JSON");
        let max_tokens = endpoint.has_output().then_some(1);
        let (cache_salt, account, traceparent, is_probe) = (None, None, None, true);
        let asked = Asked {
            endpoint,
            model,
            max_tokens,
            cache_salt,
            account,
            traceparent,
            is_charged,
            is_probe,
            body,
        };
        let outcome = self.within(limit_ms, self.attempt_probe(asked), AttemptError::TimedOut).await;
        Ok(match outcome.map_err(|error| self.doubt_model(model, error)) {
            Ok(_) | Err(AttemptError::TooLong(_)) => ProbeOutcome::Healthy,
            Err(AttemptError::NoUsage(why) | AttemptError::BadUsage(why)) => ProbeOutcome::Failed(format!(
                "its answers have no usage, and the model has a price by which their tokens are charged: {why}"
            )),
            Err(AttemptError::Status { code: code @ (400 | 413 | 422), message, .. }) => {
                ProbeOutcome::Refused { code, message }
            }
            // The probe has its own limit, so none is ever added.
            Err(AttemptError::LimitRefused) => ProbeOutcome::Healthy,
            Err(AttemptError::Status { code: 429 | 503, message, retry_after_ms }) => {
                ProbeOutcome::Busy { retry_after_ms, message }
            }
            Err(AttemptError::UnlistedModel { code, message }) => {
                let name = self.engine_model(model);
                ProbeOutcome::Failed(format!("status {code}: {message}; it does not list the model {name}"))
            }
            Err(AttemptError::Status { code, message, .. }) => {
                let outcome = ProbeOutcome::Failed(format!("status {code}: {message}"));
                return if says_nothing_is_there(code) { Err(outcome) } else { Ok(outcome) };
            }
            Err(AttemptError::NotServed(_, message)) => return Err(ProbeOutcome::Failed(message)),
            Err(AttemptError::TimedOut(why) | AttemptError::TooSlow(why)) => ProbeOutcome::TimedOut(why),
            Err(
                AttemptError::Connect(why)
                | AttemptError::Reset(why)
                | AttemptError::NotACompletion(why)
                | AttemptError::Aborted(why),
            ) => ProbeOutcome::Failed(why),
        })
    }

    /// Sends a probe, and repeats it without its output limit if the engine refuses the limit.
    async fn attempt_probe(&self, asked: Asked<'_>) -> Result<Completion, AttemptError> {
        match self.attempt(asked).await {
            Err(AttemptError::Status { code: 400 | 422, message, .. })
                if is_about_limit(&message) && !self.config.counts_calls() =>
            {
                self.attempt(Asked { max_tokens: None, ..asked }).await
            }
            outcome => outcome,
        }
    }
}
