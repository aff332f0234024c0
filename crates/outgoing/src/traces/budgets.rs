//! Budgets per account and minute for traces that callers request by their own `traceparent`.

use std::sync::{Mutex, PoisonError};

use overnight_domain::scheduler::AccountKey;
use overnight_domain::token_buckets::{Rate, TokenBuckets};

const MINUTE_MS: i64 = 60_000;

/// Tracked accounts. While none of their buckets is full again, further accounts have no budget.
const ACCOUNTS_MAX: usize = 4_096;

/// A token bucket for each account, which holds one minute's budget.
pub(super) struct Budgets {
    per_minute: u32,
    buckets: Mutex<TokenBuckets<AccountKey>>,
}

impl Budgets {
    /// With 0 there is nothing to take.
    pub(super) fn new(per_minute: u32) -> Self {
        Self { per_minute, buckets: Mutex::new(TokenBuckets::new(ACCOUNTS_MAX)) }
    }

    /// Whether callers have no budget at all.
    pub(super) const fn is_none(&self) -> bool {
        self.per_minute == 0
    }

    /// Takes one from an account's bucket, at a time in milliseconds; false if it is empty.
    pub(super) fn take(&self, account: AccountKey, now: i64) -> bool {
        if self.is_none() {
            return false;
        }
        let rate = Rate::new(self.per_minute.into(), MINUTE_MS, MINUTE_MS);
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        buckets.keep(account, rate, now).is_some_and(|bucket| bucket.take(now).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_750_000_000_000;

    #[test]
    fn an_account_takes_its_part_of_a_minute_and_no_other_s() {
        let budgets = Budgets::new(3);
        let take = |account, now| budgets.take(AccountKey(account), now);
        assert_eq!([0; 5].map(|_| take(1, NOW)), [true, true, true, false, false]);
        assert!(take(2, NOW));
        assert!(!take(1, NOW + 19_999) && take(1, NOW + 20_000) && !take(1, NOW + 20_001));
        assert!(!Budgets::new(0).take(AccountKey(1), NOW));
    }

    #[test]
    fn accounts_beyond_the_bound_have_no_budget() {
        let budgets = Budgets::new(1);
        for account in 0..ACCOUNTS_MAX as i64 {
            assert!(budgets.take(AccountKey(account), NOW));
        }
        assert!(!budgets.take(AccountKey(-1), NOW));
        assert!(budgets.take(AccountKey(-1), NOW + 60_001));
    }
}
