//! Whether a replica works: a tiny completion that any engine can give, or another answer of an engine that serves none.

use overnight_domain::endpoints::Endpoint;
use overnight_domain::json::Json;
use overnight_domain::scheduler::{AttemptError, ProbeOutcome};

use super::client::{Asked, EngineClient};
use super::served::says_nothing_is_there;

/// How long a probe may take: an engine that works may be busy with long prompts.
const PROBE_TIMEOUT_MS: i64 = 60_000;

/// What a probe asks.
const fn probe_body(endpoint: Endpoint) -> &'static [u8] {
    match endpoint {
        Endpoint::ChatCompletions => br#"{"model":"","messages":[{"role":"user","content":"Hi"}]}"#,
        Endpoint::Completions => br#"{"model":"","prompt":"Hi"}"#,
        Endpoint::Embeddings => br#"{"model":"","input":"Hi"}"#,
    }
}

impl EngineClient {
    /// Asks the engine for one token of `model`, our name of it; where there is nothing at that path, for what else it was asked for. It works where it completes that, and also where it
    /// objects to the request itself (400, 413, 422): then it has read it, unless it does not list the model. It may be
    /// another engine than before a pause, so it is also asked for its models before anything is sent to it.
    pub async fn probe(&self, model: &str) -> ProbeOutcome {
        // It may have been listed since.
        if self.known_models.lacks(self.engine_model(model)) {
            self.learn_models().await;
        }
        let outcome = self.probe_endpoints(model).await;
        let works = matches!(outcome, ProbeOutcome::Healthy | ProbeOutcome::Refused { .. });
        if works && self.config.openai().is_some() {
            self.learn_models().await;
        }
        outcome
    }

    /// What the first endpoint says at which there is something; of none, what the likeliest says.
    async fn probe_endpoints(&self, model: &str) -> ProbeOutcome {
        let target = match self.target().await {
            Ok(target) => target,
            Err(why) => return ProbeOutcome::Failed(why),
        };
        let endpoints = target.only.map_or_else(|| self.served.to_probe(model), |only| vec![only]);
        let mut first = None;
        for endpoint in endpoints {
            match self.probe_once(model, endpoint).await {
                Ok(outcome) => return outcome,
                Err(outcome) => drop(first.get_or_insert(outcome)),
            }
        }
        first.unwrap_or_else(|| ProbeOutcome::Failed("there is nothing to probe".to_owned()))
    }

    /// The outcome; an error where there may be nothing at the path.
    async fn probe_once(&self, model: &str, endpoint: Endpoint) -> Result<ProbeOutcome, ProbeOutcome> {
        let limit_ms = self.config.request_timeout.0.min(PROBE_TIMEOUT_MS);
        let body = Json::from_stored(probe_body(endpoint)).expect("the probe is JSON");
        let max_tokens = endpoint.has_output().then_some(1);
        let asked = Asked { endpoint, model, max_tokens, cache_salt: None, traceparent: None, body };
        let outcome = self.within(limit_ms, self.attempt(asked), AttemptError::TimedOut).await;
        Ok(match outcome.map_err(|error| self.doubt_model(model, error)) {
            Ok(_) | Err(AttemptError::NoUsage(_) | AttemptError::BadUsage(_) | AttemptError::TooLong(_)) => {
                ProbeOutcome::Healthy
            }
            Err(AttemptError::Status { code: code @ (400 | 413 | 422), message, .. }) => {
                ProbeOutcome::Refused { code, message }
            }
            // The probe has a limit of its own, which is never added to it.
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
}
