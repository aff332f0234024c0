//! Time, handed in: the service reads it and waits on it here only, so that the simulation can own it.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A wait that ends when its time has come.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Where the time comes from.
pub trait Clock: Send + Sync + 'static {
    /// Milliseconds since the Unix epoch. It may step back, as the machine's clock may.
    fn now(&self) -> i64;

    /// Ends once [`Clock::now`] has reached `at`, or at once if it has.
    fn sleep_until(&self, at: i64) -> Sleep;
}

/// A clock shared by all who need it.
pub type SharedClock = Arc<dyn Clock>;

/// The machine's clock.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the machine's clock")]
    fn now(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }

    #[expect(clippy::disallowed_methods, reason = "the one place that waits")]
    fn sleep_until(&self, at: i64) -> Sleep {
        let wait_ms = u64::try_from(at.saturating_sub(self.now())).unwrap_or(0);
        Box::pin(tokio::time::sleep(Duration::from_millis(wait_ms)))
    }
}

/// A clock that stands still until it is set: for the simulation and for tests.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock that shows `now`.
    pub fn at(now: i64) -> Arc<Self> {
        Arc::new(Self(AtomicI64::new(now)))
    }

    /// Sets it, forward or back.
    pub fn set(&self, now: i64) {
        self.0.store(now, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Never ends: whoever owns this clock calls what is due by itself.
    fn sleep_until(&self, _at: i64) -> Sleep {
        Box::pin(std::future::pending())
    }
}

/// A clock on which every wait is over, for tests of what gives up in the end.
#[derive(Debug, Default, Clone, Copy)]
pub struct HurriedClock;

impl Clock for HurriedClock {
    fn now(&self) -> i64 {
        0
    }

    fn sleep_until(&self, _at: i64) -> Sleep {
        Box::pin(std::future::ready(()))
    }
}
