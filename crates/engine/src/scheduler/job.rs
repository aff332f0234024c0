//! Input and output of the scheduler.

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
    /// At least one token, and fewer than the context.
    pub prompt: Arc<[Token]>,
    /// Only requests with the same salt share the computed beginning of their prompts.
    pub salt: Option<Arc<str>>,
    /// Accounts answer for the time that their forms take.
    pub account: Arc<str>,
    pub generation: Generation,
    /// The form of each answer; `None`: any text.
    pub grammar: Option<Arc<Grammar>>,
    pub respond: oneshot::Sender<Result<Completion, Failure>>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    #[error(transparent)]
    Decode(#[from] DecodeFailed),
    #[error(transparent)]
    Form(#[from] Unkept),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Generation {
    /// How many answers; each is a sequence of its own on the one prompt.
    pub choices: usize,
    /// Tokens of one answer; the context may hold fewer.
    pub tokens_max: usize,
    /// Until an answer has this many tokens, no token that ends it is drawn. Stop strings still end it.
    pub tokens_min: usize,
    /// Strings that end an answer before them.
    pub stops: Vec<String>,
    /// Whether an answer keeps the string that ended it.
    pub keeps_stop: bool,
    /// Tokens that end an answer, beside the model's own.
    pub stop_tokens: Vec<Token>,
    /// The only tokens that are drawn; `None`: all.
    pub allowed: Option<TokenSet>,
    /// Choice `i` has the `i`-th seed after this one.
    pub sampling: Sampling,
    /// How many alternatives of each token are reported with their probabilities; `None`: no probabilities.
    pub logprobs: Option<usize>,
    /// Whether the model's own end of turn is ignored. A grammar's is not.
    pub ignores_end: bool,
    /// Whether the answer must be bit-for-bit repeatable, if the request is alone.
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
    pub prompt_tokens: usize,
    /// Prompt tokens that the first choice found in the cache.
    pub cached_tokens: usize,
    /// As many as were requested, in order.
    pub choices: Vec<Choice>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The text before the stop string or the end of the turn.
    pub text: String,
    pub finish: Finish,
    /// Drawn tokens, with the one that ended the turn.
    pub tokens: usize,
    /// One entry for each token of the text, if requested.
    pub logprobs: Vec<Logprobs>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The model ended its turn, a stop string came, or the form is complete.
    Stop,
    /// The allowed number of tokens was drawn, or the context was full.
    Length,
}
