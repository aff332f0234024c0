//! The only place where this program reads the time or lets it pass.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Since 1970; 0 on a clock before that.
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

pub async fn pause(time: Duration) {
    #[allow(clippy::disallowed_methods, reason = "the clock of this program")]
    tokio::time::sleep(time).await;
}
