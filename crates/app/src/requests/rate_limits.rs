//! Limits how many requests an account may create per second: a token bucket for each account with such a quota.

use std::sync::{Mutex, MutexGuard, PoisonError};

use overnight_domain::quotas::{Quota, QuotaExceeded, Quotas};
use overnight_domain::scheduler::AccountKey;
use overnight_domain::token_buckets::{Rate, TokenBuckets};

/// After a pause an account may create as many requests in a burst as it may in this time.
const BURST_MS: i64 = 10_000;

/// The maximum number of buckets; other accounts have full ones.
const ACCOUNTS_MAX: usize = 16_384;

/// The buckets of this process. Each process of an installation has its own.
#[derive(Debug)]
pub struct RateLimits {
    buckets: Mutex<TokenBuckets<AccountKey>>,
}

/// The state of an account's bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateStanding {
    /// The size of a burst after a pause.
    pub limit: i64,
    pub remaining: i64,
    /// When a full burst is allowed again, in milliseconds; not before now.
    pub full_at: i64,
}

impl Default for RateLimits {
    fn default() -> Self {
        Self { buckets: Mutex::new(TokenBuckets::new(ACCOUNTS_MAX)) }
    }
}

impl RateLimits {
    /// Records the quota of an account, read when its key was looked up. A bucket whose rate changes is full again.
    pub(crate) fn learn(&self, account: AccountKey, own: Option<i64>, defaults: &Quotas, now: i64) {
        let own = Quotas::default().with(Quota::RequestsPerSecond, own);
        let mut buckets = self.buckets();
        match own.or(defaults).get(Quota::RequestsPerSecond) {
            None => buckets.remove(account),
            Some(per_second) => _ = buckets.keep(account, Rate::new(per_second, 1_000, BURST_MS), now),
        }
    }

    /// Takes one request of `account` at `now` from its bucket, if it has one. Fails and takes nothing if the bucket is empty.
    pub(super) fn take(&self, account: AccountKey, now: i64) -> Result<(), QuotaExceeded> {
        let mut buckets = self.buckets();
        let Some(bucket) = buckets.get(account) else { return Ok(()) };
        let limit = bucket.rate().tokens();
        let refused =
            |retry_after_ms| QuotaExceeded { quota: Quota::RequestsPerSecond, limit, retry_after_ms };
        bucket.take(now).map_err(refused)
    }

    /// `None` if the account has no such quota.
    pub fn standing(&self, account: AccountKey, now: i64) -> Option<RateStanding> {
        let mut buckets = self.buckets();
        let bucket = buckets.get(account)?;
        let (limit, remaining) = (bucket.rate().burst(), bucket.tokens(now));
        Some(RateStanding { limit, remaining, full_at: bucket.full_at(now) })
    }

    fn buckets(&self) -> MutexGuard<'_, TokenBuckets<AccountKey>> {
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner)
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
        let last = AccountKey(ACCOUNTS_MAX as i64);
        assert_eq!(limits.standing(last, NOW), None);
        limits.learn(last, Some(1), &Quotas::default(), NOW + 10_000);
        assert!(limits.standing(last, NOW + 10_000).is_some(), "full buckets make room");
    }
}
