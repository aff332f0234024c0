//! The one place of the benchmarks that reads a clock or sleeps: what they measure is real time.
#![allow(clippy::disallowed_methods, reason = "a benchmark measures the machine's own time")]

use std::time::{Duration, Instant};

/// A moment that durations are measured from.
pub(super) fn now() -> Instant {
    Instant::now()
}

/// Waits that long.
pub(super) async fn sleep_ms(milliseconds: u64) {
    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
}
