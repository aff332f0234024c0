//! Token buckets: the owner may take several tokens together, and then one whenever one has flowed in.

use std::collections::BTreeMap;

/// How often full buckets are removed if all that may be kept are in use, in milliseconds.
const TIDIED_EVERY_MS: i64 = 1_000;

/// How buckets fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    tokens: i64,
    token_us: i64,
    burst_us: i64,
}

impl Rate {
    /// `tokens` flow in per `period_ms` milliseconds, at least one; a full bucket holds what flows in within `burst_ms`.
    pub const fn new(tokens: i64, period_ms: i64, burst_ms: i64) -> Self {
        let tokens = if tokens < 1 { 1 } else { tokens };
        let token_us = period_ms * 1_000 / tokens;
        Self { tokens, token_us: if token_us < 1 { 1 } else { token_us }, burst_us: burst_ms * 1_000 }
    }

    /// Tokens that flow in per period.
    pub const fn tokens(self) -> i64 {
        self.tokens
    }

    /// Tokens in a full bucket.
    pub const fn burst(self) -> i64 {
        self.burst_us / self.token_us
    }
}

/// A bucket. Its times are in milliseconds.
#[derive(Debug, Clone, Copy)]
pub struct TokenBucket {
    rate: Rate,
    /// When it is full, in microseconds; the more was taken, the later.
    full_at_us: i64,
}

impl TokenBucket {
    /// How it fills.
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// Takes a token at `now`. If there is none, takes none and fails with the milliseconds until there is one.
    pub fn take(&mut self, now: i64) -> Result<(), i64> {
        let taken_us = self.taken_us(now);
        let early_us = taken_us + self.rate.token_us - self.rate.burst_us;
        // What was recorded before the clock was set back no longer counts, refused or not.
        self.full_at_us = now * 1_000 + taken_us;
        if early_us > 0 {
            return Err(whole_ms(early_us));
        }
        self.full_at_us += self.rate.token_us;
        Ok(())
    }

    /// Puts back a token that was taken.
    pub const fn give_back(&mut self) {
        self.full_at_us -= self.rate.token_us;
    }

    /// The tokens that it holds at `now`.
    pub fn tokens(&self, now: i64) -> i64 {
        (self.rate.burst_us - self.taken_us(now)) / self.rate.token_us
    }

    /// When it is full; not before `now`.
    pub fn full_at(&self, now: i64) -> i64 {
        now + whole_ms(self.taken_us(now))
    }

    /// Time to fill from `now` on: no longer than from empty, even if the clock was set back.
    fn taken_us(&self, now: i64) -> i64 {
        (self.full_at_us - now * 1_000).clamp(0, self.rate.burst_us)
    }
}

const fn whole_ms(us: i64) -> i64 {
    (us + 999) / 1_000
}

/// The buckets of many keys, up to a bound; those that are not kept are full.
#[derive(Debug)]
pub struct TokenBuckets<K> {
    kept: BTreeMap<K, TokenBucket>,
    most: usize,
    tidied_at: i64,
}

impl<K: Copy + Ord> TokenBuckets<K> {
    /// With room for `most` buckets.
    pub fn new(most: usize) -> Self {
        Self { kept: BTreeMap::new(), most, tidied_at: 0 }
    }

    /// The bucket of `key`, if it is kept.
    pub fn get(&mut self, key: K) -> Option<&mut TokenBucket> {
        self.kept.get_mut(&key)
    }

    /// The bucket of `key`, kept from now on. It is full if it was not kept or had another rate. `None` if the bound is reached and no
    /// bucket is full at `now`, in milliseconds, as far as known.
    pub fn keep(&mut self, key: K, rate: Rate, now: i64) -> Option<&mut TokenBucket> {
        if self.kept.len() >= self.most && !self.kept.contains_key(&key) {
            if !(0..TIDIED_EVERY_MS).contains(&(now - self.tidied_at)) {
                self.tidied_at = now;
                self.kept.retain(|_, bucket| bucket.full_at_us > now * 1_000);
            }
            if self.kept.len() >= self.most {
                return None;
            }
        }
        let full = TokenBucket { rate, full_at_us: 0 };
        let bucket = self.kept.entry(key).or_insert(full);
        if bucket.rate != rate {
            *bucket = full;
        }
        Some(bucket)
    }

    /// Forgets the bucket of `key`.
    pub fn remove(&mut self, key: K) {
        self.kept.remove(&key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_750_000_000_000;

    /// A bucket of ten that gains one each 333 ms.
    fn bucket() -> TokenBucket {
        *TokenBuckets::new(1).keep(0, Rate::new(3, 1_000, 3_334), NOW).expect("room")
    }

    fn taken(bucket: &mut TokenBucket, now: i64) -> usize {
        (0..100).take_while(|_| bucket.take(now).is_ok()).count()
    }

    #[test]
    fn a_full_bucket_is_taken_at_once_and_fills_at_its_rate() {
        let mut bucket = bucket();
        assert_eq!((bucket.rate().burst(), bucket.tokens(NOW), bucket.full_at(NOW)), (10, 10, NOW));
        assert_eq!(taken(&mut bucket, NOW), 10);
        assert_eq!((bucket.tokens(NOW), bucket.full_at(NOW)), (0, NOW + 3_334));
        let wait_ms = bucket.take(NOW).expect_err("an empty bucket");
        assert!(bucket.take(NOW + wait_ms - 1).is_err() && bucket.take(NOW + wait_ms).is_ok());
        assert_eq!(taken(&mut bucket, NOW + 1_000), 2, "fractions count");
        assert_eq!(taken(&mut bucket, NOW + 3_600_000), 10, "it holds no more than when it is full");
    }

    #[test]
    fn a_clock_that_was_set_back_makes_nobody_wait_longer_than_from_empty() {
        let mut bucket = bucket();
        assert_eq!(taken(&mut bucket, NOW), 10);
        assert_eq!(taken(&mut bucket, NOW - 3_600_000), 0, "what was taken counts");
        assert_eq!(taken(&mut bucket, NOW - 3_600_000 + 1_000), 3, "it fills as before");
    }

    #[test]
    fn token_that_is_given_back_can_be_taken_again() {
        let mut bucket = bucket();
        for _ in 0..30 {
            assert_eq!(bucket.take(NOW), Ok(()));
            bucket.give_back();
        }
        assert_eq!(bucket.tokens(NOW), 10);
    }

    #[test]
    fn rates_beyond_the_clock_take_a_microsecond_a_token() {
        for tokens in [2_000_000, i64::MAX] {
            assert_eq!(Rate::new(tokens, 1_000, 10).burst(), 10_000);
        }
        assert_eq!(Rate::new(0, 1_000, 1_000).burst(), 1);
    }

    #[test]
    fn a_bucket_whose_rate_changes_is_full_and_others_stay() {
        let mut buckets = TokenBuckets::new(2);
        let (slow, fast) = (Rate::new(1, 1_000, 10_000), Rate::new(2, 1_000, 10_000));
        for key in [1, 2] {
            assert_eq!(taken(buckets.keep(key, slow, NOW).expect("room"), NOW), 10);
        }
        assert_eq!(taken(buckets.keep(1, slow, NOW).expect("room"), NOW), 0);
        assert_eq!(taken(buckets.keep(1, fast, NOW).expect("room"), NOW), 20);
        assert_eq!(taken(buckets.get(2).expect("a bucket"), NOW), 0);
        buckets.remove(2);
        assert!(buckets.get(2).is_none());
    }

    #[test]
    fn no_more_than_the_bound_are_kept_and_full_ones_make_room() {
        let (mut buckets, rate) = (TokenBuckets::new(3), Rate::new(1, 1_000, 10_000));
        for key in 0..3 {
            assert_eq!(buckets.keep(key, rate, NOW).expect("room").take(NOW), Ok(()));
        }
        assert!(buckets.keep(3, rate, NOW).is_none());
        assert!(buckets.keep(0, rate, NOW).is_some(), "it is kept");
        assert!(buckets.keep(3, rate, NOW + TIDIED_EVERY_MS).is_some());
        assert_eq!(buckets.kept.len(), 1);
    }
}
