//! How many requests an account may create in a second: a token bucket for each account that has such a quota.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use overnight_domain::quotas::{Quota, QuotaExceeded, Quotas};
use overnight_domain::scheduler::AccountKey;

/// After a pause an account may create as many at once as it may in this time.
const BURST_MS: i64 = 10_000;

/// How many accounts are kept track of; the buckets of others are full.
const ACCOUNTS_MAX: usize = 16_384;

/// The buckets of this process. Each process of an installation has its own.
#[derive(Debug, Default)]
pub struct RateLimits {
    buckets: Mutex<HashMap<AccountKey, Bucket>>,
}

/// How an account stands with its rate of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateStanding {
    /// How many requests it may create at once after a pause.
    pub limit: i64,
    /// How many it may create now.
    pub remaining: i64,
    /// When it may create as many as after a pause, in milliseconds; not before now.
    pub full_at: i64,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    per_second: i64,
    /// When the bucket is full, in microseconds; later than now by what was taken of it.
    full_at_us: i64,
}

impl RateLimits {
    /// What the store says of an account whose key was looked up: its quota, or that it has none. A bucket whose rate changes is
    /// full again.
    pub(super) fn learn(&self, account: AccountKey, own: Option<i64>, defaults: &Quotas, now: i64) {
        let own = Quotas::default().with(Quota::RequestsPerSecond, own);
        let mut buckets = self.buckets();
        match own.or(defaults).get(Quota::RequestsPerSecond) {
            None => _ = buckets.remove(&account),
            Some(per_second) => {
                if buckets.len() >= ACCOUNTS_MAX && !buckets.contains_key(&account) {
                    buckets.retain(|_, bucket| bucket.full_at_us > now * 1_000);
                    if buckets.len() >= ACCOUNTS_MAX {
                        return;
                    }
                }
                let known = buckets.get(&account).is_some_and(|bucket| bucket.per_second == per_second);
                if !known {
                    buckets.insert(account, Bucket { per_second, full_at_us: 0 });
                }
            }
        }
    }

    /// Takes one request of `account` at `now` from its bucket, if it has one.
    ///
    /// # Errors
    ///
    /// The bucket is empty; nothing was taken.
    pub(super) fn take(&self, account: AccountKey, now: i64) -> Result<(), QuotaExceeded> {
        let mut buckets = self.buckets();
        let Some(bucket) = buckets.get_mut(&account) else { return Ok(()) };
        // Refused or not, what was stored by a clock that was set back since counts no longer.
        bucket.full_at_us = bucket.full_at_us(now);
        let full_at_us = bucket.full_at_us + bucket.request_us();
        let early_us = full_at_us - (now + BURST_MS) * 1_000;
        if early_us > 0 {
            let limit = bucket.per_second;
            let retry_after_ms = early_us / 1_000 + 1;
            return Err(QuotaExceeded { quota: Quota::RequestsPerSecond, limit, retry_after_ms });
        }
        bucket.full_at_us = full_at_us;
        Ok(())
    }

    /// How `account` stands at `now`; `None` where it has no such quota.
    pub fn standing(&self, account: AccountKey, now: i64) -> Option<RateStanding> {
        let bucket = *self.buckets().get(&account)?;
        let (now_us, burst_us) = (now * 1_000, BURST_MS * 1_000);
        let taken_us = bucket.full_at_us(now) - now_us;
        Some(RateStanding {
            limit: burst_us / bucket.request_us(),
            remaining: (burst_us - taken_us).max(0) / bucket.request_us(),
            full_at: now + (taken_us + 999) / 1_000,
        })
    }

    fn buckets(&self) -> MutexGuard<'_, HashMap<AccountKey, Bucket>> {
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Bucket {
    /// When it is full, in microseconds. It fills within [`BURST_MS`] from empty, though the clock was set back.
    fn full_at_us(self, now: i64) -> i64 {
        self.full_at_us.clamp(now * 1_000, (now + BURST_MS) * 1_000)
    }

    /// How long it fills for one request, in microseconds.
    fn request_us(self) -> i64 {
        (1_000_000 / self.per_second.max(1)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCOUNT: AccountKey = AccountKey(7);
    const NOW: i64 = 1_750_000_000_000;

    fn taken(limits: &RateLimits, now: i64) -> usize {
        (0..1_000).take_while(|_| limits.take(ACCOUNT, now).is_ok()).count()
    }

    #[test]
    fn a_bucket_holds_ten_seconds_of_requests_and_fills_at_the_rate() {
        let limits = RateLimits::default();
        limits.learn(ACCOUNT, Some(5), &Quotas::default(), NOW);
        assert_eq!(taken(&limits, NOW), 50);
        let refused = limits.take(ACCOUNT, NOW).expect_err("an empty bucket");
        assert_eq!((refused.quota, refused.limit), (Quota::RequestsPerSecond, 5));
        assert!((200..=201).contains(&refused.retry_after_ms), "{refused:?}");
        assert_eq!(taken(&limits, NOW + 1_000), 5);
        assert_eq!(taken(&limits, NOW + 3_600_000), 50);
        assert_eq!(taken(&limits, NOW), 0, "the clock was set back, and what was taken counts");
        assert_eq!(taken(&limits, NOW + 1_000), 5, "it fills as before");
    }

    #[test]
    fn what_is_left_of_a_bucket_is_told_and_when_it_is_full() {
        let limits = RateLimits::default();
        let standing = |now| limits.standing(ACCOUNT, now).expect("a quota");
        assert_eq!(limits.standing(ACCOUNT, NOW), None);
        limits.learn(ACCOUNT, Some(4), &Quotas::default(), NOW);
        assert_eq!(standing(NOW), RateStanding { limit: 40, remaining: 40, full_at: NOW });
        assert!(limits.take(ACCOUNT, NOW).is_ok());
        assert_eq!(standing(NOW), RateStanding { limit: 40, remaining: 39, full_at: NOW + 250 });
        assert_eq!(taken(&limits, NOW), 39);
        assert_eq!(standing(NOW), RateStanding { limit: 40, remaining: 0, full_at: NOW + 10_000 });
        assert_eq!(standing(NOW + 600), RateStanding { limit: 40, remaining: 2, full_at: NOW + 10_000 });
        assert_eq!(standing(NOW + 60_000).remaining, 40);
    }

    #[test]
    fn a_quota_that_changes_applies_from_then_on_and_another_account_has_its_own() {
        let limits = RateLimits::default();
        let defaults = Quotas::default().with(Quota::RequestsPerSecond, Some(1));
        limits.learn(ACCOUNT, None, &defaults, NOW);
        limits.learn(AccountKey(8), None, &defaults, NOW);
        assert_eq!(taken(&limits, NOW), 10);
        assert!(limits.take(AccountKey(8), NOW).is_ok());
        limits.learn(ACCOUNT, Some(2), &defaults, NOW);
        assert_eq!(taken(&limits, NOW), 20, "a full bucket");
        limits.learn(ACCOUNT, Some(2), &defaults, NOW);
        assert_eq!(taken(&limits, NOW + 2_000), 4);
        limits.learn(ACCOUNT, Some(Quotas::UNLIMITED), &defaults, NOW);
        assert_eq!(taken(&limits, NOW + 2_000), 1_000);
    }

    #[test]
    fn no_more_accounts_than_the_bound_are_kept() {
        let limits = RateLimits::default();
        for account in 0..=ACCOUNTS_MAX as i64 {
            limits.learn(AccountKey(account), Some(1), &Quotas::default(), NOW);
            assert!(limits.take(AccountKey(account), NOW).is_ok());
        }
        assert_eq!(limits.buckets().len(), ACCOUNTS_MAX);
        limits.learn(ACCOUNT, Some(1), &Quotas::default(), NOW + 10_000);
        limits.learn(AccountKey(-1), Some(1), &Quotas::default(), NOW + 10_000);
        assert!(limits.buckets().len() <= 2, "full buckets make room");
    }
}
