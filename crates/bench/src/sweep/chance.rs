//! Draws from a seed: SplitMix64 (G. L. Steele, D. Lea, C. H. Flood: "Fast splittable pseudorandom number generators", 2014).

/// A random stream; the same seed yields the same draws.
#[derive(Debug)]
pub(super) struct Chance(u64);

impl Chance {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// At least 0 and below 1.
    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Below `count`, which is at least 1.
    pub(super) fn below(&mut self, count: usize) -> usize {
        let scaled = (u128::from(self.next()) * count as u128) >> 64;
        usize::try_from(scaled).unwrap_or(0)
    }

    /// A length around `median` whose logarithm is normally distributed (Box–Muller), between a quarter and four times the median.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive number")]
    pub(super) fn length(&mut self, median: usize, deviation: f64) -> usize {
        let (radius, angle) =
            ((-2.0 * (1.0 - self.share()).ln()).sqrt(), self.share() * std::f64::consts::TAU);
        let factor = (deviation * radius * angle.cos()).exp().clamp(0.25, 4.0);
        (median as f64 * factor) as usize
    }

    /// English-like words of four bytes each, so that each counts as one token.
    pub(super) fn words(&mut self, tokens: usize) -> String {
        let mut text = String::with_capacity(tokens * 4);
        for _ in 0..tokens {
            let draw = self.next();
            let letter = |shift: u32| char::from(b'a' + ((draw >> shift) % 26) as u8);
            text.extend([letter(0), letter(16), letter(32), ' ']);
        }
        text
    }

    /// A random order of `items` (Fisher–Yates).
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}
