//! Random numbers: SplitMix64 (Steele, Lea and Flood, 2014), seeded by a request or by the operating system.

use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Clone, Debug)]
pub struct Chance {
    state: u64,
}

const GOLDEN_GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

impl Chance {
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN_GAMMA);
        mix(self.state)
    }

    /// From 0 up to, not including, 1.
    pub fn next_unit(&mut self) -> f32 {
        #[expect(clippy::cast_precision_loss, reason = "24 bits fit an f32 exactly")]
        let bits = (self.next_u64() >> 40) as f32;
        bits / 16_777_216.0
    }
}

fn mix(state: u64) -> u64 {
    let state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    state ^ (state >> 31)
}

/// Seeds and identifiers that no two calls of one process share.
#[derive(Debug)]
pub struct Seeds {
    state: AtomicU64,
}

impl Seeds {
    pub fn from_system() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 8];
        #[allow(clippy::disallowed_methods, reason = "the one place where this program asks for randomness")]
        getrandom::fill(&mut bytes)?;
        Ok(Self { state: AtomicU64::new(u64::from_le_bytes(bytes)) })
    }

    pub fn next_seed(&self) -> u64 {
        mix(self.state.fetch_add(GOLDEN_GAMMA, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::Chance;

    #[test]
    fn a_seed_repeats_its_stream() {
        let draw =
            |seed| (0..8).scan(Chance::new(seed), |chance, _| Some(chance.next_u64())).collect::<Vec<_>>();
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn the_first_number_of_seed_0_is_the_published_one() {
        assert_eq!(Chance::new(0).next_u64(), 0xE220_A839_7B1D_CDAF);
    }

    #[test]
    fn unit_numbers_fill_the_interval_and_stay_below_one() {
        let mut chance = Chance::new(1);
        let drawn: Vec<f32> = (0..10_000).map(|_| chance.next_unit()).collect();
        assert!(drawn.iter().all(|unit| (0.0..1.0).contains(unit)));
        assert!((drawn.iter().sum::<f32>() / 10_000.0 - 0.5).abs() < 0.02);
    }
}
