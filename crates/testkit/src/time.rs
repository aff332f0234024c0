//! The only place of this crate that reads a clock or sleeps: its counterparts are peers on real sockets, so they use real time, while the
//! service under test may use its own.
#![allow(
    clippy::disallowed_methods,
    reason = "who stands outside the process has a clock of its own; so has its double"
)]

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub(crate) fn now() -> Instant {
    Instant::now()
}

pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
}

pub(crate) fn unix_ms() -> i64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX)
}

/// Returns immediately for 0.
pub(crate) async fn sleep_ms(milliseconds: u64) {
    if milliseconds > 0 {
        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
    }
}

/// Waits until the instant, which may be in the past.
pub(crate) async fn sleep_until(instant: Instant) {
    tokio::time::sleep_until(instant.into()).await;
}
