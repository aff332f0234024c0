//! The one place of this crate that reads a clock or sleeps: its stand-ins are peers on real sockets, so they live in
//! real time while the service under test may own its own.
#![allow(
    clippy::disallowed_methods,
    reason = "who stands outside the process has a clock of its own; so has its double"
)]

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub(crate) fn now() -> Instant {
    Instant::now()
}

/// The Unix time in whole seconds, as engines and tokens tell it.
pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
}

/// The Unix time in milliseconds.
pub(crate) fn unix_ms() -> i64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX)
}

/// Waits that long; nothing at all for 0.
pub(crate) async fn sleep_ms(milliseconds: u64) {
    if milliseconds > 0 {
        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
    }
}

/// Waits until the instant, which may have passed.
pub(crate) async fn sleep_until(instant: Instant) {
    tokio::time::sleep_until(instant.into()).await;
}
