//! Whether a replica works: a tiny completion that any engine can give.

use overnight_domain::json::Json;
use overnight_domain::scheduler::{AttemptError, ProbeOutcome};

use super::client::{Asked, EngineClient};

/// How long a probe may take: an engine that works may be busy with long prompts.
const PROBE_TIMEOUT_MS: i64 = 60_000;

/// What a probe asks.
const PROBE_BODY: &[u8] = br#"{"model":"","messages":[{"role":"user","content":"Hi"}]}"#;

impl EngineClient {
    /// Asks the engine for one token of `model`, our name of it. It works where it completes that, and also where it
    /// objects to the request itself (400, 413, 422): then it has read it, unless it does not list the model. It may be
    /// another engine than before a pause, so it is also asked for its models before anything is sent to it.
    pub async fn probe(&self, model: &str) -> ProbeOutcome {
        // It may have been listed since.
        if self.known_models.lacks(self.engine_model(model)) {
            self.learn_models().await;
        }
        let outcome = self.probe_once(model).await;
        if outcome == ProbeOutcome::Healthy && self.config.openai().is_some() {
            self.learn_models().await;
        }
        outcome
    }

    async fn probe_once(&self, model: &str) -> ProbeOutcome {
        let limit_ms = self.config.request_timeout.0.min(PROBE_TIMEOUT_MS);
        let body = Json::from_stored(PROBE_BODY).expect("the probe is JSON");
        let asked = Asked { model, max_tokens: Some(1), cache_salt: None, body };
        let outcome = self.within(limit_ms, self.attempt(asked), AttemptError::TimedOut).await;
        match outcome.map_err(|error| self.doubt_model(model, error)) {
            Ok(_) | Err(AttemptError::BadUsage(_) | AttemptError::TooLong(_)) => ProbeOutcome::Healthy,
            Err(AttemptError::Status { code: 400 | 413 | 422, .. }) => ProbeOutcome::Healthy,
            // The probe has a limit of its own, which is never added to it.
            Err(AttemptError::LimitRefused) => ProbeOutcome::Healthy,
            Err(AttemptError::Status { code: 429 | 503, .. }) => ProbeOutcome::Busy,
            Err(AttemptError::UnlistedModel { code, message }) => {
                let name = self.engine_model(model);
                ProbeOutcome::Failed(format!("status {code}: {message}; it does not list the model {name}"))
            }
            Err(AttemptError::Status { code, message, .. }) => {
                ProbeOutcome::Failed(format!("status {code}: {message}"))
            }
            Err(AttemptError::TimedOut(why) | AttemptError::TooSlow(why)) => ProbeOutcome::TimedOut(why),
            Err(
                AttemptError::Connect(why) | AttemptError::Reset(why) | AttemptError::NotACompletion(why),
            ) => ProbeOutcome::Failed(why),
        }
    }
}
