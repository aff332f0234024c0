//! How much callers may have traced by their own `traceparent`: so much a minute for each account.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use overnight_domain::scheduler::AccountKey;

const MINUTE_US: i64 = 60_000_000;

/// How many accounts are kept track of. Where all of these wait to be full again, others have no budget.
const ACCOUNTS_MAX: usize = 4_096;

/// The budgets of this process: a token bucket for each account, as large as what it may take in a minute.
pub(super) struct Budgets {
    per_minute: u32,
    /// When each bucket is full, in microseconds; one that is not kept is full.
    full_at_us: Mutex<HashMap<AccountKey, i64>>,
}

impl Budgets {
    /// Of so much a minute; of 0, there is nothing to take.
    pub(super) fn new(per_minute: u32) -> Self {
        Self { per_minute, full_at_us: Mutex::default() }
    }

    /// Whether callers have any say at all.
    pub(super) const fn is_none(&self) -> bool {
        self.per_minute == 0
    }

    /// Takes one from the bucket of an account at a time in milliseconds; whether there was one.
    pub(super) fn take(&self, account: AccountKey, now: i64) -> bool {
        if self.is_none() {
            return false;
        }
        let now_us = now.saturating_mul(1_000);
        let mut buckets = self.full_at_us.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= ACCOUNTS_MAX && !buckets.contains_key(&account) {
            buckets.retain(|_, full_at_us| *full_at_us > now_us);
            if buckets.len() >= ACCOUNTS_MAX {
                return false;
            }
        }
        let kept = buckets.get(&account).copied().unwrap_or(now_us);
        // The machine's clock may step back; a bucket is never emptier than empty.
        let from_us = kept.clamp(now_us, now_us.saturating_add(MINUTE_US));
        let full_at_us = from_us.saturating_add(MINUTE_US / i64::from(self.per_minute));
        let has_one = full_at_us <= now_us.saturating_add(MINUTE_US);
        buckets.insert(account, if has_one { full_at_us } else { from_us });
        has_one
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
        // Back in time it is as empty as it was, and full after a minute.
        assert!(!take(1, NOW - 3_600_000));
        assert_eq!([0; 4].map(|_| take(1, NOW + 90_000)), [true, true, true, false]);
        assert!(!Budgets::new(0).take(AccountKey(1), NOW));
    }

    #[test]
    fn no_more_accounts_are_kept_than_the_bound() {
        let budgets = Budgets::new(1);
        for account in 0..ACCOUNTS_MAX as i64 {
            assert!(budgets.take(AccountKey(account), NOW));
        }
        assert!(!budgets.take(AccountKey(-1), NOW));
        assert!(budgets.take(AccountKey(-1), NOW + 60_001));
        assert_eq!(budgets.full_at_us.lock().unwrap().len(), 1);
    }
}
