//! The one place of the simulated engine that reads a clock or sleeps: it is a peer on a real socket, so it lives in
//! real time while the service under test may own its own.
#![allow(
    clippy::disallowed_methods,
    reason = "an engine outside the process has a clock of its own; so has its double"
)]

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The monotonic time of the engine.
pub(super) fn now() -> Instant {
    Instant::now()
}

/// The Unix time in whole seconds, as `created` wants it.
pub(super) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
}

/// Waits that long; nothing at all for 0.
pub(super) async fn sleep_ms(milliseconds: u64) {
    if milliseconds > 0 {
        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
    }
}

/// Waits until the instant, which may have passed.
pub(super) async fn sleep_until(instant: Instant) {
    tokio::time::sleep_until(instant.into()).await;
}
