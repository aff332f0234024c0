//! The prompt tokens that the queue's order saves at one engine: those found in its prefix cache, less those that it would have held in
//! order of arrival. The latter were estimated when the requests arrived (`overnight_domain::fifo_baseline`).

use overnight_domain::answers::Usage;

/// Means cover about this many completions.
const RECENT: u64 = 1_024;
/// The initial estimate, as in `ChatBody::estimate_cost`.
const BYTES_PER_TOKEN: u64 = 4;

#[derive(Debug, Default)]
pub(super) struct FifoSavings {
    recent: Recent,
    /// Since the process began, of prompts with an estimate; `None` until there is one.
    saved_tokens: Option<i64>,
}

/// Sums over the last completions, halved now and then.
#[derive(Debug, Default)]
struct Recent {
    completions: u64,
    body_bytes: u64,
    prompt_tokens: u64,
    completion_tokens: u64,
    /// Of prompts with an estimate: their tokens, and the part that would have been in the cache.
    estimated_tokens: u64,
    fifo_tokens: u64,
}

impl FifoSavings {
    /// Adds a completion, with the estimated part of its prompt in the cache in order of arrival, in thousandths.
    pub(super) fn add(&mut self, usage: Usage, body_bytes: usize, fifo_hit_permille: Option<u16>) {
        let Recent { completions, body_bytes: bytes, prompt_tokens, completion_tokens, .. } =
            &mut self.recent;
        *completions += 1;
        *bytes = bytes.saturating_add(body_bytes as u64);
        *prompt_tokens = prompt_tokens.saturating_add(usage.prompt_tokens);
        *completion_tokens = completion_tokens.saturating_add(usage.completion_tokens);
        if let Some(permille) = fifo_hit_permille {
            let would_hold = usage.prompt_tokens.saturating_mul(permille.into()) / 1_000;
            let signed = |tokens| i64::try_from(tokens).unwrap_or(i64::MAX);
            let saved = signed(usage.cached_tokens.unwrap_or(0)).saturating_sub(signed(would_hold));
            self.saved_tokens = Some(self.saved_tokens.unwrap_or(0).saturating_add(saved));
            self.recent.estimated_tokens = self.recent.estimated_tokens.saturating_add(usage.prompt_tokens);
            self.recent.fifo_tokens = self.recent.fifo_tokens.saturating_add(would_hold);
        }
        if self.recent.completions >= 2 * RECENT {
            self.recent.halve();
        }
    }

    /// The size of so many tokens in request bodies.
    pub(super) fn body_bytes_of(&self, tokens: u64) -> u64 {
        let Recent { body_bytes, prompt_tokens, .. } = self.recent;
        let known = tokens.saturating_mul(body_bytes).checked_div(prompt_tokens);
        known.unwrap_or_else(|| tokens.saturating_mul(BYTES_PER_TOKEN))
    }

    /// The mean cache use of an answer.
    pub(super) fn answer_tokens(&self) -> u64 {
        self.recent.completion_tokens.checked_div(self.recent.completions).unwrap_or(0)
    }

    /// The tokens of the last prompts with an estimate that the cache would hold in order of arrival, in percent.
    pub(super) fn fifo_hit_percent(&self) -> Option<i64> {
        let percent =
            self.recent.fifo_tokens.saturating_mul(100).checked_div(self.recent.estimated_tokens)?;
        i64::try_from(percent).ok()
    }

    /// Since the process began; negative if the order costs tokens.
    pub(super) fn saved_tokens(&self) -> Option<i64> {
        self.saved_tokens
    }
}

impl Recent {
    fn halve(&mut self) {
        let Self { completions, body_bytes, prompt_tokens, completion_tokens, estimated_tokens, fifo_tokens } =
            self;
        for sum in [completions, body_bytes, prompt_tokens, completion_tokens, estimated_tokens, fifo_tokens]
        {
            *sum /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(prompt_tokens: u64, completion_tokens: u64, cached_tokens: Option<u64>) -> Usage {
        let total_tokens = prompt_tokens + completion_tokens;
        Usage { prompt_tokens, completion_tokens, total_tokens, cached_tokens }
    }

    #[test]
    fn saved_is_what_was_cached_beyond_what_would_have_been() {
        let mut savings = FifoSavings::default();
        savings.add(usage(1_000, 10, Some(900)), 4_000, None);
        assert_eq!(
            (savings.saved_tokens(), savings.fifo_hit_percent()),
            (None, None),
            "nothing to compare with"
        );
        savings.add(usage(1_000, 10, Some(900)), 4_000, Some(250));
        assert_eq!((savings.saved_tokens(), savings.fifo_hit_percent()), (Some(650), Some(25)));
        savings.add(usage(1_000, 10, None), 4_000, Some(750));
        assert_eq!((savings.saved_tokens(), savings.fifo_hit_percent()), (Some(-100), Some(50)));
    }

    #[test]
    fn sizes_are_learnt_from_completions() {
        let mut savings = FifoSavings::default();
        assert_eq!((savings.body_bytes_of(1_000), savings.answer_tokens()), (4_000, 0));
        savings.add(usage(100, 30, None), 250, None);
        savings.add(usage(300, 10, None), 750, None);
        assert_eq!((savings.body_bytes_of(1_000), savings.answer_tokens()), (2_500, 20));
        for _ in 0..8 * RECENT {
            savings.add(usage(100, 200, None), 600, Some(1_000));
        }
        assert_eq!((savings.body_bytes_of(1_000), savings.answer_tokens()), (5_999, 199), "old ones fade");
        assert!(savings.recent.completions < 2 * RECENT);
        assert_eq!(savings.saved_tokens(), Some(-100 * 8 * 1_024), "the sum does not");
    }
}
