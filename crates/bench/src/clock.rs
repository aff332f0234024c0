//! The only place of the benchmarks that reads a clock or sleeps: they measure real time.
#![allow(clippy::disallowed_methods, reason = "a benchmark measures the machine's own time")]

use std::time::{Duration, Instant};

pub(super) fn now() -> Instant {
    Instant::now()
}

pub(super) async fn sleep_ms(milliseconds: u64) {
    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
}
