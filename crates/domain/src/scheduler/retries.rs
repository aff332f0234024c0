//! When a failed request is tried again, and how long an engine rests.

use super::random::Random;

/// The longest waits before the second, the third and each later attempt, in milliseconds; the last one repeats. Callers may be waiting for
/// the first retries; the later ones outlast a backend that is unavailable for hours.
const WAITS_MS: [i64; 9] = [500, 1_000, 2_000, 4_000, 30_000, 120_000, 480_000, 1_800_000, 3_600_000];
/// Shorter waits are quick: they are random up to their length, and the end of the completion window does not shorten them.
const QUICK_MS: i64 = 30_000;
/// A later wait that the end of the completion window makes shorter than this is not worth an attempt.
const LAST_WAIT_MS: i64 = 5_000;

/// When a request that failed `failures` times is tried again; `None` if no further attempt can finish by `last_moment`. A later wait
/// takes at most half of the time left, so the last attempts come close to the end of the completion window, and the number of
/// attempts in a window is bounded.
pub(super) fn next_attempt_at(failures: u32, last_moment: i64, random: &mut Random, now: i64) -> Option<i64> {
    let index = usize::try_from(failures.saturating_sub(1)).unwrap_or(usize::MAX);
    let longest = WAITS_MS[index.min(WAITS_MS.len() - 1)];
    let left_ms = last_moment.saturating_sub(now);
    let wait_ms = match longest {
        ..QUICK_MS => random.up_to(longest),
        _ => (longest - random.up_to(longest / 4)).min(left_ms / 2),
    };
    let is_worth_it = if longest < QUICK_MS { wait_ms <= left_ms } else { wait_ms >= LAST_WAIT_MS };
    is_worth_it.then(|| now.saturating_add(wait_ms))
}

/// Exponential back-off with jitter (Brooker: "Exponential backoff and jitter", AWS Architecture Blog, 2015), for an engine that needs rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Backoff {
    /// Maximum of the first wait.
    pub(super) base_ms: i64,
    /// Maximum of every wait.
    pub(super) cap_ms: i64,
}

impl Backoff {
    /// The base, doubled `step` times, up to the cap.
    fn ceiling_ms(self, step: u32) -> i64 {
        self.base_ms.saturating_mul(1 << step.min(32)).min(self.cap_ms)
    }

    /// Between half of the ceiling and all of it.
    pub(super) fn equal_jitter_ms(self, step: u32, random: &mut Random) -> i64 {
        let half = self.ceiling_ms(step) / 2;
        half + random.up_to(half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_MS: i64 = 86_400_000;

    fn waits_ms(window_ms: i64, seed: u64) -> Vec<i64> {
        let (mut random, mut now, mut waits) = (Random::new(seed), 0, Vec::new());
        for failures in 1.. {
            let Some(at) = next_attempt_at(failures, window_ms, &mut random, now) else { break };
            waits.push(at - now);
            now = at;
        }
        waits
    }

    #[test]
    fn quick_retries_come_first_and_hourly_ones_last_as_long_as_the_window() {
        for seed in 0..50 {
            let waits = waits_ms(DAY_MS, seed);
            for (wait, longest) in waits.iter().zip(WAITS_MS) {
                let least = if longest < QUICK_MS { 0 } else { longest * 3 / 4 };
                assert!((least..=longest).contains(wait), "seed {seed}: {wait} of {longest}");
            }
            let last_at: i64 = waits.iter().sum();
            assert!((DAY_MS - 20_000..DAY_MS).contains(&last_at), "seed {seed}: {last_at}");
            assert!(waits.len() < 50, "seed {seed}: {} attempts", waits.len());
        }
    }

    #[test]
    fn no_attempt_begins_after_the_last_moment() {
        for (window_ms, most) in [(0, 1), (400, 4), (20_000, 6), (60_000, 8), (3_600_000, 20)] {
            for seed in 0..50 {
                let waits = waits_ms(window_ms, seed);
                assert!(waits.iter().sum::<i64>() <= window_ms, "{window_ms} ms: {waits:?}");
                assert!(waits.len() <= most, "{window_ms} ms: {waits:?}");
            }
        }
    }

    #[test]
    fn a_request_of_an_engine_that_was_away_for_a_minute_is_retried_within_two_minutes() {
        for seed in 0..200 {
            let mut at = 0;
            let after = waits_ms(DAY_MS, seed).into_iter().find_map(|wait| {
                at += wait;
                (at >= 60_000).then_some(at)
            });
            assert!(after.is_some_and(|at| at <= 60_000 + 120_000), "seed {seed}: {after:?}");
        }
    }

    #[test]
    fn a_rest_doubles_up_to_its_cap_with_jitter() {
        let backoff = Backoff { base_ms: 500, cap_ms: 60_000 };
        let ceilings: Vec<_> = [0, 1, 2, 6, 7, u32::MAX].map(|step| backoff.ceiling_ms(step)).into();
        assert_eq!(ceilings, [500, 1000, 2000, 32_000, 60_000, 60_000]);
        let mut random = Random::new(3);
        for step in 0..10 {
            let equal = backoff.equal_jitter_ms(step, &mut random);
            assert!((backoff.ceiling_ms(step) / 2..=backoff.ceiling_ms(step)).contains(&equal));
        }
    }
}
