//! An engine's tokens, and how many of them its prefix cache saved.

use std::sync::{Mutex, MutexGuard, PoisonError};

use metrics::{Counter, Gauge, counter, gauge};
use overnight_base::telemetry;
use overnight_domain::answers::Usage;
use overnight_store::nodes::engine_reports::{EngineRates, PrefixCacheState};
use overnight_store::queue::Prompt;

use super::fifo_savings::FifoSavings;
use super::token_rates::{self, TokenRates};

/// The metrics of one engine, looked up once.
pub(super) struct TokenCounters {
    prompt: Counter,
    cached: Counter,
    completion: Counter,
    saved: Gauge,
    counted: Mutex<Counted>,
}

#[derive(Default)]
struct Counted {
    rates: TokenRates,
    savings: FifoSavings,
}

impl TokenCounters {
    pub(super) fn new(engine: &str) -> Self {
        telemetry::begin_engine(engine);
        let name = || engine.to_owned();
        Self {
            prompt: counter!("overnight_engine_prompt_tokens_total", "engine" => name()),
            cached: counter!("overnight_engine_cached_prompt_tokens_total", "engine" => name()),
            completion: counter!("overnight_engine_completion_tokens_total", "engine" => name()),
            saved: gauge!("overnight_engine_prompt_tokens_saved_by_order", "engine" => name()),
            counted: Mutex::default(),
        }
    }

    pub(super) fn count(&self, usage: Usage, prompt: &Prompt) {
        self.prompt.increment(usage.prompt_tokens);
        self.cached.increment(usage.cached_tokens.unwrap_or(0));
        self.completion.increment(usage.completion_tokens);
        let mut counted = self.counted();
        counted.rates.add(usage);
        let tells_cached = counted.rates.tells_cached();
        counted.savings.add(usage, prompt.body.len(), prompt.fifo_hit_permille.filter(|_| tells_cached));
        if let Some(saved) = counted.savings.saved_tokens() {
            self.saved.set(saved as f64);
        }
    }

    /// Over about the last minute before `now`.
    pub(super) fn rates(&self, now: i64) -> EngineRates {
        self.counted().rates.at(now)
    }

    /// `tokens` is the cache's size.
    pub(super) fn prefix_cache(&self, tokens: Option<u64>) -> PrefixCacheState {
        let savings = &self.counted().savings;
        let in_bytes = |tokens: u64| token_rates::rounded(savings.body_bytes_of(tokens));
        PrefixCacheState {
            body_bytes: tokens.map(in_bytes),
            answer_bytes: in_bytes(savings.answer_tokens()),
            fifo_hit_percent: savings.fifo_hit_percent(),
            saved_tokens: savings.saved_tokens().map(rounded),
        }
    }

    fn counted(&self) -> MutexGuard<'_, Counted> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn rounded(saved: i64) -> i64 {
    i64::try_from(token_rates::rounded(saved.unsigned_abs())).unwrap_or(i64::MAX) * saved.signum()
}
