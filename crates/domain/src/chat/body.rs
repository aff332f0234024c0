//! A checked `request_body`.

use super::{fields, messages, tools};
use crate::bodies::{self, LOGPROBS_MAX, Path, Review, Sizing};
use crate::faults::{Faults, codes};
use crate::json::{Json, JsonText, RawObject};
use crate::limits::Limits;
use crate::money::TokenBound;

/// The fields whose text reaches the model's prompt.
const PROMPT_FIELDS: [&str; 6] =
    ["messages", "tools", "functions", "documents", "chat_template_kwargs", "response_format"];

/// Maximum of tokens that a chat template puts around a message.
const TOKENS_HELD_PER_MESSAGE: usize = 32;

/// A valid chat-completion body, and the facts for its price and its schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatBody {
    /// The client's name of the model, not empty. It may not be configured.
    pub model: String,
    /// The explicit output limit of one completion, in tokens: `max_tokens` or its synonym `max_completion_tokens`.
    pub max_output_tokens: Option<u32>,
    /// Number of completions: 1 to 128.
    pub n: u32,
    /// Log probabilities with each token of the answer: none, or the token's own and those of `top_logprobs` others.
    pub logprobs: u32,
    /// Number of messages, at least one.
    pub message_count: usize,
    /// Number of media parts; each is priced as an image, sound and files too.
    pub image_count: usize,
    /// Bytes of the fields that reach the prompt (messages, tools…), without the data of inline images.
    pub input_bytes: usize,
    /// The body as compact text, to be stored.
    pub body: JsonText,
}

impl ChatBody {
    /// Checks `value`, which is at `path` in the client's body (`request_body`). Fails with every fault, each with its path, such as
    /// `request_body.messages[0].role`.
    pub fn parse(value: Json<'_>, path: &str, limits: &Limits) -> Result<Self, Faults> {
        let mut review = Review { limits, faults: Faults::default() };
        let path = Path::Root(path);
        let Some(body) = review.object(value, &path) else { return Err(review.faults) };
        let model = bodies::read_model(&mut review, &body, &path);
        let totals = messages::check_messages(&mut review, &body, &path);
        let max_output_tokens = bodies::read_max_tokens(&mut review, &body, &path);
        let n = bodies::read_n(&mut review, &body, &path);
        let logprobs = fields::read_logprobs(&mut review, &body, &path);
        bodies::check_numbers(&mut review, &body, &path);
        bodies::check_booleans(&mut review, &body, &path, &fields::BOOLEANS);
        fields::check_response_format(&mut review, &body, &path);
        fields::check_template_arguments(&mut review, &body, &path);
        tools::check_tools(&mut review, &body, &path);
        tools::check_modalities(&mut review, &body, &path);
        bodies::check_depth(&mut review, &body, &path);
        bodies::check_names(&mut review, &body, &path, &fields::READ);
        if !review.faults.is_empty() {
            return Err(review.faults);
        }
        Ok(Self {
            model,
            max_output_tokens,
            n,
            logprobs,
            message_count: totals.message_count,
            image_count: totals.media.count,
            input_bytes: prompt_bytes(&body).saturating_sub(totals.media.image_data_bytes),
            body: value.to_text(),
        })
    }

    /// The likely work for an engine, in tokens, for fairness between accounts until the real usage is known: input at four bytes a token
    /// plus the tokens of images, plus twice the output limit of all completions.
    pub fn estimate_cost(&self, sizing: &Sizing) -> u32 {
        let images = self.image_count.saturating_mul(sizing.image_tokens as usize);
        bodies::estimate(self.input_bytes, images, self.max_tokens(sizing).saturating_mul(self.n))
    }

    /// The output limit of one completion, as sent to the engine.
    pub fn max_tokens(&self, sizing: &Sizing) -> u32 {
        self.max_output_tokens.unwrap_or(sizing.default_max_tokens)
    }

    /// Refuses a body, which is at `path`, whose answer would exceed [`ANSWER_BYTES_MAX`](bodies::ANSWER_BYTES_MAX) if it used its output
    /// limit: an engine would work in vain.
    pub fn check_answer_size(&self, sizing: &Sizing, path: &str, faults: &mut Faults) {
        let tokens = u64::from(self.max_tokens(sizing)).saturating_mul(u64::from(self.n));
        if tokens.saturating_mul(u64::from(self.logprobs)) > LOGPROBS_MAX {
            let message = format_args!(
                "asks for too long an answer: with logprobs, n x max_tokens x (1 + top_logprobs) must be at most {LOGPROBS_MAX}"
            );
            faults.push(format!("{path}.logprobs"), codes::OUT_OF_RANGE, message);
        }
    }

    /// The expected maximum of tokens, which prices the hold: input by its bytes, with 32 tokens a message and the tokens of images and
    /// other media; output up to the limit of all completions.
    pub fn token_bound(&self, sizing: &Sizing) -> TokenBound {
        let input = self
            .input_bytes
            .div_ceil(sizing.bytes_per_token.max(1) as usize)
            .saturating_add(self.message_count.saturating_mul(TOKENS_HELD_PER_MESSAGE))
            .saturating_add(self.image_count.saturating_mul(sizing.image_tokens as usize));
        let output = u64::from(self.max_tokens(sizing)) * u64::from(self.n);
        TokenBound { input: input as u64, output }
    }
}

fn prompt_bytes(body: &RawObject<'_>) -> usize {
    PROMPT_FIELDS.iter().filter_map(|field| body.get_some(field)).map(|value| value.as_str().len()).sum()
}
