//! What goes into the scheduler and what comes out.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::{
    constraint::{Constraint, ConstraintFailed},
    model::{DecodeFailed, Token},
    sampling::{Logprobs, Sampling},
};

/// A request that waits for its answer. Dropping the receiver of `respond` cancels it between two steps.
#[derive(Debug)]
pub struct Job {
    /// At least one token, and fewer than the context holds.
    pub prompt: Arc<[Token]>,
    /// How the answer is made.
    pub generation: Generation,
    /// The form that each answer has, where one is asked for.
    pub constraint: Option<Constraint>,
    /// Where the answer goes.
    pub respond: oneshot::Sender<Result<Completion, JobFailed>>,
}

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JobFailed {
    /// The engine's fault.
    #[error(transparent)]
    Step(#[from] DecodeFailed),
    /// The request's.
    #[error(transparent)]
    Form(#[from] ConstraintFailed),
}

/// How an answer is made.
#[derive(Clone, Debug, PartialEq)]
pub struct Generation {
    /// How many answers; each is a sequence of its own on the one prompt.
    pub choices: usize,
    /// The most tokens of one answer; the context may hold fewer.
    pub tokens_max: usize,
    /// Strings that end an answer before them.
    pub stops: Vec<String>,
    /// How tokens are drawn; choice `i` has the `i`-th seed after this one.
    pub sampling: Sampling,
    /// How many rivals of each token are reported with their probabilities; `None` reports none at all.
    pub logprobs: Option<usize>,
    /// Whether the model's own end of turn is passed over.
    pub ignores_end: bool,
}

/// All answers to one request.
#[derive(Clone, Debug, PartialEq)]
pub struct Completion {
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// How many of them were not computed for this request, as its first choice found them in the cache.
    pub cached_tokens: usize,
    /// As many as were asked for, in order.
    pub choices: Vec<Choice>,
}

/// One answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The text before the stop string or the end of the turn.
    pub text: String,
    /// Why it ended.
    pub finish: Finish,
    /// Tokens that were drawn, with the one that ended the turn.
    pub tokens: usize,
    /// One entry for each token of the text, if asked for.
    pub logprobs: Vec<Logprobs>,
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The model ended its turn, or a stop string came.
    Stop,
    /// The allowed number of tokens was drawn, or the context was full.
    Length,
}
