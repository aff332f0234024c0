//! Random numbers that a seed reproduces.

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014). Not for secrets.
#[derive(Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// From 0 to `max`, both included; 0 if `max` is negative.
    pub(super) fn up_to(&mut self, max: i64) -> i64 {
        let span = max.max(0).unsigned_abs() + 1;
        i64::try_from(self.next() % span).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_replays_and_bounds_hold() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            (0..100).map(|_| random.up_to(9)).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        assert!((0..=9).all(|face| draw(7).contains(&face)));
        assert!(draw(7).iter().all(|face| (0..=9).contains(face)));
        assert_eq!(Random::new(1).up_to(-5), 0);
    }
}
