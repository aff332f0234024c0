//! The engine's own counters.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counters of the engine's current life; its death resets them to 0.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    pub(super) prompt_tokens: AtomicU64,
    pub(super) generation_tokens: AtomicU64,
    pub(super) stopped: AtomicU64,
    pub(super) cut: AtomicU64,
    pub(super) aborted: AtomicU64,
}

impl Metrics {
    pub(super) fn count_completion(
        &self,
        prompt_tokens: usize,
        generation_tokens: usize,
        finish_reason: &str,
    ) {
        self.prompt_tokens.fetch_add(prompt_tokens as u64, Relaxed);
        self.generation_tokens.fetch_add(generation_tokens as u64, Relaxed);
        let ended = if finish_reason == "length" { &self.cut } else { &self.stopped };
        ended.fetch_add(1, Relaxed);
    }

    pub(super) fn count_abort(&self) {
        self.aborted.fetch_add(1, Relaxed);
    }

    pub(super) fn reset(&self) {
        for counter in [&self.prompt_tokens, &self.generation_tokens, &self.stopped, &self.cut, &self.aborted]
        {
            counter.store(0, Relaxed);
        }
    }
}
