//! How long to wait before something is tried again.

use super::random::Random;

/// Exponential back-off with jitter (Brooker: "Exponential backoff and jitter", AWS Architecture Blog, 2015).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Backoff {
    /// The ceiling of the first wait.
    pub(super) base_ms: i64,
    /// The ceiling of every wait.
    pub(super) cap_ms: i64,
}

impl Backoff {
    /// The longest wait at `step`: the base, doubled `step` times, up to the cap.
    pub(super) fn ceiling_ms(self, step: u32) -> i64 {
        self.base_ms.saturating_mul(1 << step.min(32)).min(self.cap_ms)
    }

    /// Anything up to the ceiling: spreads requests that failed together.
    pub(super) fn full_jitter_ms(self, step: u32, random: &mut Random) -> i64 {
        random.up_to(self.ceiling_ms(step))
    }

    /// Half the ceiling at least: for a replica that needs its rest.
    pub(super) fn equal_jitter_ms(self, step: u32, random: &mut Random) -> i64 {
        let half = self.ceiling_ms(step) / 2;
        half + random.up_to(half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_cap() {
        let backoff = Backoff { base_ms: 500, cap_ms: 60_000 };
        let ceilings: Vec<_> = [0, 1, 2, 6, 7, u32::MAX].map(|step| backoff.ceiling_ms(step)).into();
        assert_eq!(ceilings, [500, 1000, 2000, 32_000, 60_000, 60_000]);
    }

    #[test]
    fn jitter_stays_under_the_ceiling() {
        let backoff = Backoff { base_ms: 500, cap_ms: 60_000 };
        let mut random = Random::new(3);
        for step in 0..10 {
            assert!((0..=backoff.ceiling_ms(step)).contains(&backoff.full_jitter_ms(step, &mut random)));
            let equal = backoff.equal_jitter_ms(step, &mut random);
            assert!((backoff.ceiling_ms(step) / 2..=backoff.ceiling_ms(step)).contains(&equal));
        }
    }
}
