//! What an engine worked on, in tokens, and how much of it its prefix cache saved.

use std::sync::{Mutex, PoisonError};

use metrics::{Counter, counter};
use overnight_domain::chat::Usage;

use super::token_rates::TokenRates;
use crate::store::nodes::engine_reports::EngineRates;

/// The counters of one engine, found once.
pub(super) struct TokenCounters {
    prompt: Counter,
    cached: Counter,
    completion: Counter,
    rates: Mutex<TokenRates>,
}

impl TokenCounters {
    pub(super) fn new(engine: &str) -> Self {
        let name = || engine.to_owned();
        Self {
            prompt: counter!("overnight_engine_prompt_tokens_total", "engine" => name()),
            cached: counter!("overnight_engine_cached_prompt_tokens_total", "engine" => name()),
            completion: counter!("overnight_engine_completion_tokens_total", "engine" => name()),
            rates: Mutex::default(),
        }
    }

    /// Counts what a completion used.
    pub(super) fn count(&self, usage: Usage) {
        self.prompt.increment(usage.prompt_tokens);
        self.cached.increment(usage.cached_tokens.unwrap_or(0));
        self.completion.increment(usage.completion_tokens);
        self.rates.lock().unwrap_or_else(PoisonError::into_inner).add(usage);
    }

    /// The rates of about the last minute before `now`.
    pub(super) fn rates(&self, now: i64) -> EngineRates {
        self.rates.lock().unwrap_or_else(PoisonError::into_inner).at(now)
    }
}
