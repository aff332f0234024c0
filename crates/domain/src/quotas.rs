//! Quotas: limits of an account's use.

/// What a quota bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quota {
    /// Stored bytes of requests, results and batches.
    StoredBytes,
    /// Requests that have not ended.
    LiveRequests,
    /// Calls of Create Request per second.
    RequestsPerSecond,
    /// Tokens of requests that completed on one UTC day.
    TokensPerDay,
}

impl Quota {
    /// Every quota, in the order of [`Quotas`].
    pub const ALL: [Self; 4] =
        [Self::StoredBytes, Self::LiveRequests, Self::RequestsPerSecond, Self::TokensPerDay];

    /// Its name in the API, in settings and in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Self::StoredBytes => "stored_bytes",
            Self::LiveRequests => "live_requests",
            Self::RequestsPerSecond => "requests_per_second",
            Self::TokensPerDay => "tokens_per_day",
        }
    }
}

/// The limit of each quota; `None` if not set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Quotas([Option<i64>; Quota::ALL.len()]);

impl Quotas {
    /// An explicit lack of a limit, if the settings have one.
    pub const UNLIMITED: i64 = i64::MAX;

    /// The limit of `quota`.
    pub const fn get(&self, quota: Quota) -> Option<i64> {
        self.0[quota as usize]
    }

    /// The same with another limit of `quota`.
    #[must_use]
    pub const fn with(mut self, quota: Quota, limit: Option<i64>) -> Self {
        self.0[quota as usize] = limit;
        self
    }

    /// The limits that apply to an account with these quotas: `defaults` if it has none, and `None` if it is unlimited.
    #[must_use]
    pub fn or(&self, defaults: &Self) -> Self {
        Quota::ALL.into_iter().fold(Self::default(), |applied, quota| {
            let limit = self.get(quota).or(defaults.get(quota));
            applied.with(quota, limit.filter(|limit| *limit != Self::UNLIMITED))
        })
    }
}

/// An account's use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Bytes stored.
    pub stored_bytes: i64,
    /// Requests that have not ended.
    pub live_requests: i64,
    /// Tokens of requests that completed on the current day.
    pub tokens_today: i64,
}

/// A quota that does not allow a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotaExceeded {
    /// Which.
    pub quota: Quota,
    /// Its limit.
    pub limit: i64,
    /// Milliseconds until a request may be allowed again, as far as known.
    pub retry_after_ms: i64,
}

/// The wait of a client whose quota is freed by the end or the deletion of requests.
const RETRY_LIVE_MS: i64 = 10_000;
const RETRY_STORED_MS: i64 = 3_600_000;
const DAY_MS: i64 = 86_400_000;

impl Usage {
    /// Whether the quotas allow so many more requests, of `bytes` together, at `now`. An accepted request runs to its end: its result is
    /// stored and its tokens are counted whatever the quotas say then. Fails with the first quota that does not allow it.
    pub fn check(&self, requests: i64, bytes: i64, applied: &Quotas, now: i64) -> Result<(), QuotaExceeded> {
        let is_within = |quota, used: i64, added: i64, retry_after_ms| match applied.get(quota) {
            Some(limit) if used.saturating_add(added) > limit => {
                Err(QuotaExceeded { quota, limit, retry_after_ms })
            }
            _ => Ok(()),
        };
        is_within(Quota::LiveRequests, self.live_requests, requests, RETRY_LIVE_MS)?;
        is_within(Quota::StoredBytes, self.stored_bytes, bytes, RETRY_STORED_MS)?;
        is_within(Quota::TokensPerDay, self.tokens_today, 1, DAY_MS - now.rem_euclid(DAY_MS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 5 * DAY_MS + 3_000;

    fn exceeded(usage: Usage, quotas: &Quotas) -> Option<(Quota, i64, i64)> {
        let refused = usage.check(1, 10, quotas, NOW).err()?;
        Some((refused.quota, refused.limit, refused.retry_after_ms))
    }

    #[test]
    fn what_reaches_a_quota_is_allowed_and_what_exceeds_it_is_not() {
        let used =
            |stored_bytes, live_requests, tokens_today| Usage { stored_bytes, live_requests, tokens_today };
        let quotas = Quotas::default()
            .with(Quota::StoredBytes, Some(100))
            .with(Quota::LiveRequests, Some(3))
            .with(Quota::TokensPerDay, Some(1_000));
        assert_eq!(exceeded(used(90, 2, 999), &quotas), None);
        assert_eq!(exceeded(used(91, 2, 0), &quotas), Some((Quota::StoredBytes, 100, RETRY_STORED_MS)));
        assert_eq!(exceeded(used(0, 3, 0), &quotas), Some((Quota::LiveRequests, 3, RETRY_LIVE_MS)));
        assert_eq!(exceeded(used(0, 0, 1_000), &quotas), Some((Quota::TokensPerDay, 1_000, DAY_MS - 3_000)));
        assert_eq!(exceeded(used(i64::MAX, i64::MAX, i64::MAX), &Quotas::default()), None);
    }

    #[test]
    fn an_account_has_its_own_quotas_or_those_of_the_settings() {
        let defaults = Quotas::default().with(Quota::StoredBytes, Some(1)).with(Quota::LiveRequests, Some(2));
        let own = Quotas::default()
            .with(Quota::LiveRequests, Some(Quotas::UNLIMITED))
            .with(Quota::TokensPerDay, Some(3));
        let applied = own.or(&defaults);
        let limits = Quota::ALL.map(|quota| applied.get(quota));
        assert_eq!(limits, [Some(1), None, None, Some(3)]);
    }

    #[test]
    fn every_quota_has_its_own_place_and_name() {
        let names = Quota::ALL.map(Quota::name);
        assert_eq!(names, ["stored_bytes", "live_requests", "requests_per_second", "tokens_per_day"]);
        for (place, quota) in Quota::ALL.into_iter().enumerate() {
            assert_eq!(quota as usize, place, "{}", quota.name());
        }
    }
}
