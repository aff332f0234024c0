//! An engine replica's speed, and what its prefix cache saves, as shown to people.

use std::collections::VecDeque;

use overnight_domain::answers::Usage;
use overnight_store::nodes::engine_reports::EngineRates;

/// Rates change at most once in this time, so that a working engine causes few reports, and an idle one none.
const STEP_MS: i64 = 10_000;
/// Rates cover this many steps: a minute.
const STEPS: usize = 6;

/// Tokens of all completions so far.
#[derive(Debug, Clone, Copy, Default)]
struct Totals {
    prompt: u64,
    completion: u64,
    /// Prompt tokens found in the prefix cache; `None` until the engine reports some.
    cached: Option<u64>,
}

/// One replica's tokens, and their totals in the last minute.
#[derive(Debug, Default)]
pub(super) struct TokenRates {
    totals: Totals,
    /// The totals at times at least a step apart.
    samples: VecDeque<(i64, Totals)>,
}

impl TokenRates {
    pub(super) fn add(&mut self, usage: Usage) {
        let totals = &mut self.totals;
        totals.prompt = totals.prompt.saturating_add(usage.prompt_tokens);
        totals.completion = totals.completion.saturating_add(usage.completion_tokens);
        if let Some(cached) = usage.cached_tokens {
            totals.cached = Some(totals.cached.unwrap_or(0).saturating_add(cached));
        }
    }

    /// Whether the engine reports cached tokens.
    pub(super) fn tells_cached(&self) -> bool {
        self.totals.cached.is_some()
    }

    /// The rates of about the last minute before `now`; none within the first step. To be called more often than once a step.
    pub(super) fn at(&mut self, now: i64) -> EngineRates {
        let age_ms = self.samples.back().map(|(at, _)| now - at);
        if age_ms.is_some_and(|age_ms| age_ms < 0) {
            self.samples.clear();
        }
        if age_ms.is_none_or(|age_ms| !(0..STEP_MS).contains(&age_ms)) {
            self.samples.push_back((now, self.totals));
        }
        if self.samples.len() > STEPS + 1 {
            self.samples.pop_front();
        }
        match (self.samples.front(), self.samples.back()) {
            (Some((from, before)), Some((to, after))) if to > from => rates(before, after, to - from),
            _ => EngineRates::default(),
        }
    }
}

fn rates(before: &Totals, after: &Totals, ms: i64) -> EngineRates {
    let prompt = after.prompt.saturating_sub(before.prompt);
    let tokens = prompt.saturating_add(after.completion.saturating_sub(before.completion));
    let per_second = tokens.saturating_mul(1_000) / ms.unsigned_abs();
    let cached = after.cached.map(|cached| cached.saturating_sub(before.cached.unwrap_or(0)));
    let percent =
        |cached: u64| cached.saturating_mul(100).checked_div(prompt).map(|percent| percent.min(100));
    EngineRates {
        tokens_per_second: i64::try_from(rounded(per_second)).ok(),
        cache_hit_percent: cached.and_then(percent).and_then(|percent| i64::try_from(percent).ok()),
    }
}

/// To two digits, so that the figures of constant work do not change in each step.
pub(super) fn rounded(number: u64) -> u64 {
    let mut unit = 1;
    while number / unit >= 100 {
        unit *= 10;
    }
    (number / unit + u64::from(number % unit * 2 >= unit && unit > 1)) * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(prompt_tokens: u64, completion_tokens: u64, cached_tokens: Option<u64>) -> Usage {
        let total_tokens = prompt_tokens + completion_tokens;
        Usage { prompt_tokens, completion_tokens, total_tokens, cached_tokens }
    }

    fn shown(rates: EngineRates) -> (Option<i64>, Option<i64>) {
        (rates.tokens_per_second, rates.cache_hit_percent)
    }

    #[test]
    fn rates_are_those_of_the_last_minute_and_change_once_a_step() {
        let mut rates = TokenRates::default();
        assert_eq!(shown(rates.at(0)), (None, None), "nothing is known yet");
        rates.add(usage(9_000, 1_000, Some(6_000)));
        assert_eq!(shown(rates.at(9_999)), (None, None));
        assert_eq!(shown(rates.at(10_000)), (Some(1_000), Some(66)));
        rates.add(usage(90_000, 10_000, Some(90_000)));
        assert_eq!(shown(rates.at(19_999)), (Some(1_000), Some(66)), "the same within a step");
        assert_eq!(shown(rates.at(20_000)), (Some(5_500), Some(96)));
        for at in [30_000, 40_000, 50_000] {
            rates.at(at);
        }
        assert_eq!(shown(rates.at(60_000)), (Some(1_800), Some(96)));
        assert_eq!(shown(rates.at(70_000)), (Some(1_700), Some(100)), "the first step is forgotten");
        assert_eq!(shown(rates.at(80_000)), (Some(0), None), "it was idle for a minute");
        assert_eq!(shown(rates.at(1_000_000)), (Some(0), None));
    }

    #[test]
    fn an_engine_that_tells_no_cached_tokens_has_no_hit_rate() {
        let mut rates = TokenRates::default();
        rates.at(0);
        rates.add(usage(100, 0, None));
        assert_eq!(shown(rates.at(10_000)), (Some(10), None));
        rates.add(usage(100, 0, Some(100)));
        rates.add(usage(100, 0, None));
        assert_eq!(shown(rates.at(20_000)), (Some(15), Some(33)), "vLLM leaves it out where it is none");
    }

    #[test]
    fn a_clock_that_was_set_back_begins_anew() {
        let mut rates = TokenRates::default();
        rates.at(50_000);
        rates.add(usage(100, 0, None));
        assert_eq!(shown(rates.at(0)), (None, None));
        rates.add(usage(200, 0, None));
        assert_eq!(shown(rates.at(10_000)), (Some(20), None));
    }

    #[test]
    fn rates_have_two_digits() {
        for (number, shown) in
            [(0, 0), (7, 7), (99, 99), (104, 100), (105, 110), (12_449, 12_000), (99_500, 100_000)]
        {
            assert_eq!(rounded(number), shown, "{number}");
        }
        assert_eq!(rounded(u64::MAX), 18_000_000_000_000_000_000);
    }
}
