//! What an engine worked on, in tokens, and how much of it its prefix cache saved.

use metrics::{Counter, counter};
use overnight_domain::chat::Usage;

/// The counters of one engine, found once.
pub(super) struct TokenCounters {
    prompt: Counter,
    cached: Counter,
    completion: Counter,
}

impl TokenCounters {
    pub(super) fn new(engine: &str) -> Self {
        let name = || engine.to_owned();
        Self {
            prompt: counter!("overnight_engine_prompt_tokens_total", "engine" => name()),
            cached: counter!("overnight_engine_cached_prompt_tokens_total", "engine" => name()),
            completion: counter!("overnight_engine_completion_tokens_total", "engine" => name()),
        }
    }

    /// Counts what a completion used.
    pub(super) fn count(&self, usage: Usage) {
        self.prompt.increment(usage.prompt_tokens);
        self.cached.increment(usage.cached_tokens.unwrap_or(0));
        self.completion.increment(usage.completion_tokens);
    }
}
