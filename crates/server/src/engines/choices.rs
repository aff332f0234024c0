//! Requests for several choices: at once, or one by one where the engine draws or counts one of them only.

use overnight_domain::answers::Completion;
use overnight_domain::bodies::ANSWER_BYTES_MAX;
use overnight_domain::endpoints::Endpoint;
use overnight_domain::json::{Json, JsonText};
use overnight_domain::scheduler::AttemptError;
use overnight_domain::{chat, completions};

use super::calls::too_long;
use super::client::{Asked, EngineClient};

/// The choices that a body asks for.
struct Choices {
    prompts: u32,
    /// Of each of them.
    per_prompt: u32,
    /// The body for one of them, counted from 0.
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
    /// Asks for all that the body asks for.
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

    /// Asks for several choices: for all of them at once unless `one_by_one`, then for those of a prompt that are missing one after
    /// another; for none once one has failed.
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
            // Of several prompts nobody knows whose choices are missing.
            if choices.prompts > 1 && got != choices.count() {
                let why = format!("{got} choices were given, and not {}", choices.count());
                return Err(AttemptError::NotACompletion(why));
            }
            // A request counts once against limits of ours, unless it is known beforehand to be several.
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
