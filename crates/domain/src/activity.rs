//! What ended of an account's requests, quarter of an hour by quarter of an hour.

/// The span over which what ended is added up, in milliseconds: a quarter of an hour.
pub const QUARTER_MS: i64 = 15 * 60_000;

/// Quarters of an hour since 1970 at `now`, in milliseconds.
pub const fn quarter_of(now: i64) -> i64 {
    now.div_euclid(QUARTER_MS)
}

/// What ended of an account's requests in one quarter of an hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ActivityRecord {
    /// Which: quarters of an hour since 1970.
    pub quarter: i64,
    /// How many completed.
    pub completed: i64,
    /// How many failed, those among them that outlived their deadline.
    pub failed: i64,
    /// How many their client cancelled.
    pub cancelled: i64,
    /// Tokens that those that completed read.
    pub prompt_tokens: i64,
    /// Tokens that they wrote.
    pub completion_tokens: i64,
    /// What was charged for them, in nano-credits.
    pub amount: i64,
}
