//! The one place where this program reads the time.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Whole seconds since 1970, 0 on a clock that stands before it.
#[must_use]
pub fn unix_seconds() -> u64 {
    #[allow(clippy::disallowed_methods, reason = "the clock of this program")]
    let now = SystemTime::now();
    now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    #[must_use]
    pub fn start() -> Self {
        #[allow(clippy::disallowed_methods, reason = "the clock of this program")]
        let now = Instant::now();
        Self(now)
    }

    #[must_use]
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}
