//! A checked `request_body`.

use crate::bodies::{self, ANSWER_BYTES_MAX, Inputs, LOGPROBS_MAX, Path, Review, Sizing};
use crate::faults::{Faults, codes};
use crate::json::{Json, JsonText, Kind, RawObject};
use crate::limits::Limits;
use crate::money::TokenBound;

const COMPLETIONS_MAX: usize = 128;

const BOOLEANS: [&str; 2] = ["echo", "stream"];

/// Fields that are read here, so they must not be hidden behind another spelling. `echo` repeats the prompt, whose length is known.
const READ: [&str; 14] = [
    "model",
    "prompt",
    "suffix",
    "echo",
    "max_tokens",
    "max_completion_tokens",
    "n",
    "temperature",
    "top_p",
    "frequency_penalty",
    "presence_penalty",
    "logprobs",
    "stream",
    "stream_options",
];

/// A valid text-completion body, and the facts for its price and its schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionBody {
    /// The client's name of the model, not empty. It may not be configured.
    pub model: String,
    /// The explicit output limit of one completion, in tokens: `max_tokens` or its synonym `max_completion_tokens`.
    pub max_output_tokens: Option<u32>,
    /// Number of completions, of all prompts together: 1 to 128.
    pub completions: u32,
    /// Completions of each prompt.
    pub n: u32,
    /// Log probabilities with each token of the answer: none, or the token's own and those of so many others.
    pub logprobs: u32,
    /// Whether the answer repeats the prompt.
    pub echoes: bool,
    /// The prompts; the suffix counts with their texts.
    pub prompts: Inputs,
    /// The body as compact text, to be stored.
    pub body: JsonText,
}

impl CompletionBody {
    /// Checks `value`, which is at `path` in the client's body (`request_body`). Fails with every fault, each with its path, such as
    /// `request_body.prompt[0]`.
    pub fn parse(value: Json<'_>, path: &str, limits: &Limits) -> Result<Self, Faults> {
        let mut review = Review { limits, faults: Faults::default() };
        let path = Path::Root(path);
        let Some(body) = review.object(value, &path) else { return Err(review.faults) };
        let model = bodies::read_model(&mut review, &body, &path);
        let mut prompts = bodies::read_inputs(&mut review, &body, &path, "prompt", COMPLETIONS_MAX);
        prompts.text_bytes += read_suffix(&mut review, &body, &path);
        let max_output_tokens = bodies::read_max_tokens(&mut review, &body, &path);
        let n = bodies::read_n(&mut review, &body, &path);
        let completions = n.saturating_mul(u32::try_from(prompts.count).unwrap_or(u32::MAX));
        if completions as usize > COMPLETIONS_MAX && prompts.count <= COMPLETIONS_MAX {
            let message = format_args!(
                "must be at most {COMPLETIONS_MAX} times the prompts, of which there are {}",
                prompts.count
            );
            review.fault(&path.member("n"), codes::OUT_OF_RANGE, message);
        }
        let logprobs = read_logprobs(&mut review, &body, &path);
        bodies::check_numbers(&mut review, &body, &path);
        bodies::check_booleans(&mut review, &body, &path, &BOOLEANS);
        bodies::check_depth(&mut review, &body, &path);
        bodies::check_names(&mut review, &body, &path, &READ);
        if !review.faults.is_empty() {
            return Err(review.faults);
        }
        let echoes = body.get("echo").is_some_and(|echo| echo.as_str() == "true");
        let body = value.to_text();
        Ok(Self { model, max_output_tokens, completions, n, logprobs, echoes, prompts, body })
    }

    /// The likely work for an engine, in tokens, as for a chat completion.
    pub fn estimate_cost(&self, sizing: &Sizing) -> u32 {
        let output = self.max_tokens(sizing).saturating_mul(self.completions);
        bodies::estimate(self.prompts.text_bytes, self.prompts.token_count, output)
    }

    /// The output limit of one completion, as sent to the engine.
    pub fn max_tokens(&self, sizing: &Sizing) -> u32 {
        self.max_output_tokens.unwrap_or(sizing.default_max_tokens)
    }

    /// Refuses a body, which is at `path`, whose answer would exceed [`ANSWER_BYTES_MAX`] if it used its output limit: an engine would work
    /// in vain.
    pub fn check_answer_size(&self, sizing: &Sizing, path: &str, faults: &mut Faults) {
        let (n, bound) = (u64::from(self.n), self.token_bound(sizing));
        let Inputs { text_bytes, token_count, .. } = self.prompts;
        let echoed_bytes = (text_bytes.saturating_add(token_count) as u64).saturating_mul(n);
        if self.echoes && echoed_bytes > ANSWER_BYTES_MAX as u64 {
            let message =
                format_args!("asks for too long an answer, which has at most {ANSWER_BYTES_MAX} bytes");
            faults.push(format_args!("{path}.echo"), codes::OUT_OF_RANGE, message);
        }
        let echoed = if self.echoes { bound.input.saturating_mul(n) } else { 0 };
        let tokens = bound.output.saturating_add(echoed);
        if tokens.saturating_mul(self.logprobs.into()) > LOGPROBS_MAX {
            let message = format_args!(
                "asks for too long an answer: with logprobs, n x max_tokens x (1 + logprobs) of all prompts, and what is echoed, \
                 must be at most {LOGPROBS_MAX}"
            );
            faults.push(format_args!("{path}.logprobs"), codes::OUT_OF_RANGE, message);
        }
    }

    /// The expected maximum of tokens, which prices the hold: input by its bytes and tokens, with 4 a prompt; output up to the limit of all
    /// completions.
    pub fn token_bound(&self, sizing: &Sizing) -> TokenBound {
        let input = self.prompts.token_bound(sizing.bytes_per_token) as u64;
        let output = u64::from(self.max_tokens(sizing)) * u64::from(self.completions);
        TokenBound { input, output }
    }
}

/// Bytes of the text that follows each completion.
fn read_suffix(review: &mut Review<'_>, body: &RawObject<'_>, path: &Path<'_>) -> usize {
    let Some(suffix) = body.get_some("suffix") else { return 0 };
    review.expect_string(suffix, &path.member("suffix"));
    suffix.as_str().len()
}

/// Log probabilities with each token of the answer.
fn read_logprobs(review: &mut Review<'_>, body: &RawObject<'_>, path: &Path<'_>) -> u32 {
    let Some(value) = body.get_some("logprobs") else { return 0 };
    let others = value.as_integer_text().and_then(|text| text.parse::<u32>().ok());
    if others.is_none() {
        let is_number = value.kind() == Kind::Number;
        let code = if is_number { codes::OUT_OF_RANGE } else { codes::WRONG_TYPE };
        review.fault(&path.member("logprobs"), code, "must be an integer of at least 0");
    }
    others.map_or(0, |others| others.saturating_add(1))
}
