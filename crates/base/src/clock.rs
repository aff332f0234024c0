//! Injected time: the service reads it and waits only here, so that the simulation can control it.

mod following;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures_util::FutureExt;

pub use self::following::{CORRECTION_MS_MAX, ClockChange, Follower, FollowingClock, HOLD_MS};

pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

pub trait Clock: Send + Sync + 'static {
    /// Milliseconds since the Unix epoch. It may go back, as the machine's clock may.
    fn now(&self) -> i64;

    /// Ends once [`Clock::now`] has reached `at`, immediately if it has.
    fn sleep_until(&self, at: i64) -> Sleep;

    /// The machine's clock, whether followed or not: for signatures and tokens, which others compare with their own clocks.
    fn machine_now(&self) -> i64 {
        self.now()
    }

    /// Whether the machine's clock has jumped and is not followed yet.
    fn is_apart(&self) -> bool {
        false
    }

    /// Compares the machine's clock with the monotonic clock, if they differ in kind; returns what changed.
    fn look(&self) -> Option<ClockChange> {
        None
    }
}

pub type SharedClock = Arc<dyn Clock>;

/// A time limit that begins now. A step of the machine's clock does not change it.
pub struct TimeLimit {
    wait: Sleep,
    is_over: bool,
}

impl TimeLimit {
    pub fn begin(clock: &SharedClock, limit_ms: i64) -> Self {
        Self { wait: clock.sleep_until(clock.now().saturating_add(limit_ms)), is_over: false }
    }

    /// Poll it now and then: it wakes nobody.
    pub fn is_over(&mut self) -> bool {
        self.is_over = self.is_over || self.wait.as_mut().now_or_never().is_some();
        self.is_over
    }
}

/// The machine's clock, unchanged, for short-lived commands.
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

/// Milliseconds since its start. It never jumps, and on Linux it stops while the machine sleeps.
#[derive(Debug, Clone, Copy)]
pub struct MonotonicClock(Instant);

impl MonotonicClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the monotonic clock")]
    pub fn start() -> Self {
        Self(Instant::now())
    }
}

impl Clock for MonotonicClock {
    fn now(&self) -> i64 {
        i64::try_from(self.0.elapsed().as_millis()).unwrap_or(i64::MAX)
    }

    #[expect(clippy::disallowed_methods, reason = "the one place that waits by it")]
    fn sleep_until(&self, at: i64) -> Sleep {
        let wait_ms = u64::try_from(at.saturating_sub(self.now())).unwrap_or(0);
        Box::pin(tokio::time::sleep(Duration::from_millis(wait_ms)))
    }
}

/// A clock that stands still until it is set: for the simulation and for tests.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    pub fn at(now: i64) -> Arc<Self> {
        Arc::new(Self(AtomicI64::new(now)))
    }

    pub fn set(&self, now: i64) {
        self.0.store(now, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Never ends: the owner of this clock calls what is due.
    fn sleep_until(&self, _at: i64) -> Sleep {
        Box::pin(std::future::pending())
    }
}

/// A clock on which every wait is over, for tests of timeouts.
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

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::atomic::AtomicBool;
    use std::task::Poll;

    use super::*;

    /// A clock that is set, while waits take real time.
    struct SetClock {
        now: AtomicI64,
        is_time: Arc<AtomicBool>,
    }

    impl Clock for SetClock {
        fn now(&self) -> i64 {
            self.now.load(Ordering::Relaxed)
        }

        fn sleep_until(&self, _at: i64) -> Sleep {
            let is_time = Arc::clone(&self.is_time);
            Box::pin(poll_fn(
                move |_| if is_time.load(Ordering::Relaxed) { Poll::Ready(()) } else { Poll::Pending },
            ))
        }
    }

    #[test]
    fn a_limit_of_time_is_neither_shortened_nor_prolonged_by_a_step_of_the_clock() {
        let is_time = Arc::new(AtomicBool::new(false));
        let set = Arc::new(SetClock { now: AtomicI64::new(1_000_000), is_time: Arc::clone(&is_time) });
        let clock: SharedClock = set.clone();
        let mut limit = TimeLimit::begin(&clock, 1_000);
        set.now.store(9_000_000, Ordering::Relaxed);
        assert!(!limit.is_over());
        set.now.store(0, Ordering::Relaxed);
        is_time.store(true, Ordering::Relaxed);
        assert!(limit.is_over() && limit.is_over());
    }
}
