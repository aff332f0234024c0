//! Requests for several choices: in one call, or one by one if the engine generates or counts only one.

use overnight_domain::answers::Completion;
use overnight_domain::bodies::ANSWER_BYTES_MAX;
use overnight_domain::endpoints::Endpoint;
use overnight_domain::json::{Json, JsonText};
use overnight_domain::scheduler::AttemptError;
use overnight_domain::{chat, completions};

use super::calls::too_long;
use super::client::{Asked, EngineClient};

struct Choices {
    prompts: u32,
    /// Choices per prompt.
    per_prompt: u32,
    /// The body for one choice, counted from 0.
    for_one: fn(Json<'_>, u32) -> JsonText,
}

impl Choices {
    fn of(endpoint: Endpoint, body: Json<'_>) -> Option<Self> {
        let (prompts, per_prompt, for_one): (_, _, fn(Json<'_>, u32) -> JsonText) = match endpoint {
            Endpoint::ChatCompletions => (1, chat::choices_asked(body), chat::for_one_choice),
            Endpoint::Completions => {
                let (prompts, n) = completions::choices_asked(body);
                (u32::try_from(prompts).unwrap_or(u32::MAX), n, completions::for_one_choice)
            }
            Endpoint::Embeddings => return None,
        };
        Some(Self { prompts, per_prompt, for_one }).filter(|it| it.count() > 1)
    }

    const fn count(&self) -> u32 {
        self.prompts.saturating_mul(self.per_prompt)
    }
}

impl EngineClient {
    /// Asks for everything in one call.
    pub(super) async fn attempt_whole(
        &self,
        is_llama_server: bool,
        asked: Asked<'_>,
    ) -> Result<Completion, AttemptError> {
        match Choices::of(asked.endpoint, asked.body) {
            Some(choices) => self.attempt_choices(&choices, is_llama_server, asked).await,
            None => self.attempt_in_context(asked).await,
        }
    }

    /// Asks for several choices: in one call unless `one_by_one`, then for a prompt's missing choices one by one. Stops at the first
    /// failure.
    async fn attempt_choices(
        &self,
        choices: &Choices,
        one_by_one: bool,
        asked: Asked<'_>,
    ) -> Result<Completion, AttemptError> {
        let (mut parts, mut bytes, mut got) = (Vec::new(), 0, 0);
        while got < choices.count() {
            let part = if parts.is_empty() && !one_by_one {
                self.attempt_in_context(asked).await?
            } else {
                let body = (choices.for_one)(asked.body, got);
                self.attempt_in_context(Asked { body: body.as_json(), ..asked }).await?
            };
            got += chat::choices_given(&part).max(1);
            bytes += part.body.as_str().len();
            if bytes > ANSWER_BYTES_MAX {
                return Err(too_long());
            }
            parts.push(part);
            if one_by_one {
                continue;
            }
            // With several prompts it is unknown whose choices are missing.
            if choices.prompts > 1 && got != choices.count() {
                let why = format!("{got} choices were given, and not {}", choices.count());
                return Err(AttemptError::NotACompletion(why));
            }
            // A request counts once against configured limits, unless it is known beforehand to be several calls.
            if self.config.counts_calls() {
                break;
            }
        }
        match parts.len() {
            1 => parts.pop(),
            _ => chat::join_choices(&parts, choices.per_prompt),
        }
        .ok_or_else(|| AttemptError::NotACompletion("no choice was asked for".to_owned()))
    }
}
