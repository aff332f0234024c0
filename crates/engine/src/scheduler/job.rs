//! What goes into the scheduler and what comes out.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::{
    constraint::{Grammar, Unkept},
    model::{DecodeFailed, Token},
    sampling::{Logprobs, Sampling, TokenSet},
};

/// A request that waits for its answer. Dropping the receiver of `respond` cancels it between two steps.
#[derive(Debug)]
pub struct Job {
    /// At least one token, and fewer than the context holds.
    pub prompt: Arc<[Token]>,
    pub generation: Generation,
    /// The form of each answer; any text if there is none.
    pub grammar: Option<Arc<Grammar>>,
    /// Where the answer goes.
    pub respond: oneshot::Sender<Result<Completion, Failure>>,
}

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    #[error(transparent)]
    Decode(#[from] DecodeFailed),
    /// The form that the client asked for is too complex.
    #[error(transparent)]
    Form(#[from] Unkept),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Generation {
    /// How many answers; each is a sequence of its own on the one prompt.
    pub choices: usize,
    /// The most tokens of one answer; the context may hold fewer.
    pub tokens_max: usize,
    /// Until an answer has this many tokens, no token that ends it is drawn. Strings end it all the same.
    pub tokens_min: usize,
    /// Strings that end an answer before them.
    pub stops: Vec<String>,
    /// Whether an answer keeps the string that ended it.
    pub keeps_stop: bool,
    /// Tokens that end an answer, beside the model's own.
    pub stop_tokens: Vec<Token>,
    /// The only tokens that are drawn, if not all.
    pub allowed: Option<TokenSet>,
    /// How tokens are drawn; choice `i` has the `i`-th seed after this one.
    pub sampling: Sampling,
    /// How many rivals of each token are reported with their probabilities; `None` reports none at all.
    pub logprobs: Option<usize>,
    /// Whether the model's own end of turn is passed over. A grammar's is not.
    pub ignores_end: bool,
    /// Whether the answer has to repeat to the last bit, where the request is alone.
    pub repeats: bool,
}

impl Default for Generation {
    fn default() -> Self {
        Self {
            choices: 1,
            tokens_max: usize::MAX,
            tokens_min: 0,
            stops: Vec::new(),
            keeps_stop: false,
            stop_tokens: Vec::new(),
            allowed: None,
            sampling: Sampling::default(),
            logprobs: None,
            ignores_end: false,
            repeats: false,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Completion {
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// How many of them were not computed for this request, as its first choice found them in the cache.
    pub cached_tokens: usize,
    /// As many as were asked for, in order.
    pub choices: Vec<Choice>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The text before the stop string or the end of the turn.
    pub text: String,
    pub finish: Finish,
    /// Tokens that were drawn, with the one that ended the turn.
    pub tokens: usize,
    /// One entry for each token of the text, if asked for.
    pub logprobs: Vec<Logprobs>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The model ended its turn, a stop string came, or the form is complete.
    Stop,
    /// The allowed number of tokens was drawn, or the context was full.
    Length,
}
