//! The service's clock. It runs with the monotonic clock and follows the machine's clock: small corrections immediately, a jump only if the
//! new time has lasted for a minute. So a clock that is set wrongly and corrected, or a machine that slept, causes no immediate expiry, and
//! no wait depends on the machine's clock meanwhile.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Clock, MonotonicClock, SharedClock, Sleep, SystemClock};

/// How long a new time must last before it is followed.
pub const HOLD_MS: i64 = 60_000;
/// Smaller differences are not jumps: they are followed immediately.
pub const CORRECTION_MS_MAX: i64 = 2_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockChange {
    /// It jumped. The service's time continues as before for now.
    Jumped {
        /// How far it moved since the last look, in milliseconds.
        machine_ms: i64,
        /// How far the monotonic clock moved since then, in milliseconds.
        monotonic_ms: i64,
    },
    /// It is back at the service's time.
    Returned,
    /// The new time has lasted for a minute: the service's time has moved.
    Followed {
        /// In milliseconds; negative if the clock was set back.
        by_ms: i64,
    },
}

/// Makes one clock follow another, with a clock that never jumps. It reads neither: times are passed in.
#[derive(Debug, Clone)]
pub struct Follower {
    /// The service's time at the start of the monotonic clock, in milliseconds.
    offset_ms: i64,
    /// Both clocks at the last look.
    looked_at: (i64, i64),
    apart: Option<Apart>,
}

/// The machine's clock differs from the service's.
#[derive(Debug, Clone, Copy)]
struct Apart {
    by_ms: i64,
    /// By the monotonic clock.
    since: i64,
}

impl Follower {
    /// Starts with the machine's time.
    pub const fn new(machine: i64, monotonic: i64) -> Self {
        Self { offset_ms: machine - monotonic, looked_at: (machine, monotonic), apart: None }
    }

    pub const fn now(&self, monotonic: i64) -> i64 {
        monotonic.saturating_add(self.offset_ms)
    }

    /// Whether the machine's clock has jumped and is not followed yet.
    pub const fn is_apart(&self) -> bool {
        self.apart.is_some()
    }

    /// Compares the clocks; to be called about once a second. Returns what changed.
    pub fn look(&mut self, machine: i64, monotonic: i64) -> Option<ClockChange> {
        let by_ms = machine - self.now(monotonic);
        let before = std::mem::replace(&mut self.looked_at, (machine, monotonic));
        if by_ms.abs() <= CORRECTION_MS_MAX {
            self.offset_ms += by_ms;
            return self.apart.take().map(|_| ClockChange::Returned);
        }
        let is_same = |apart: &Apart| (by_ms - apart.by_ms).abs() <= CORRECTION_MS_MAX;
        let Some(Apart { since, .. }) = self.apart.filter(is_same) else {
            self.apart = Some(Apart { by_ms, since: monotonic });
            let (machine_ms, monotonic_ms) = (machine - before.0, monotonic - before.1);
            return Some(ClockChange::Jumped { machine_ms, monotonic_ms });
        };
        if monotonic - since < HOLD_MS {
            self.apart = Some(Apart { by_ms, since });
            return None;
        }
        self.offset_ms += by_ms;
        self.apart = None;
        Some(ClockChange::Followed { by_ms })
    }
}

/// The clock of a long-running service. [`Clock::look`] must be called about once a second.
pub struct FollowingClock {
    follower: Mutex<Follower>,
    /// A copy of the follower's, which every thread reads often.
    offset_ms: AtomicI64,
    machine: SharedClock,
    monotonic: SharedClock,
}

impl FollowingClock {
    pub fn of_machine() -> Self {
        Self::new(Arc::new(SystemClock), Arc::new(MonotonicClock::start()))
    }

    pub fn new(machine: SharedClock, monotonic: SharedClock) -> Self {
        let follower = Follower::new(machine.now(), monotonic.now());
        let offset_ms = AtomicI64::new(follower.offset_ms);
        Self { follower: Mutex::new(follower), offset_ms, machine, monotonic }
    }

    fn with<T>(&self, work: impl FnOnce(&mut Follower) -> T) -> T {
        work(&mut self.follower.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Clock for FollowingClock {
    fn now(&self) -> i64 {
        self.monotonic.now().saturating_add(self.offset_ms.load(Ordering::Relaxed))
    }

    /// Ends after the current difference to `at`, whatever the clock does meanwhile.
    fn sleep_until(&self, at: i64) -> Sleep {
        self.monotonic.sleep_until(at.saturating_sub(self.offset_ms.load(Ordering::Relaxed)))
    }

    fn machine_now(&self) -> i64 {
        self.machine.now()
    }

    fn is_apart(&self) -> bool {
        self.with(|follower| follower.is_apart())
    }

    fn look(&self) -> Option<ClockChange> {
        self.with(|follower| {
            let change = follower.look(self.machine.now(), self.monotonic.now());
            self.offset_ms.store(follower.offset_ms, Ordering::Relaxed);
            change
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: i64 = 1_750_000_000_000;
    const HOUR_MS: i64 = 3_600_000;
    const SECOND_MS: i64 = 1_000;

    /// Looks once a second while the machine's clock is `by_ms` ahead of the right time; returns what was found, and when.
    fn look(follower: &mut Follower, from_s: i64, to_s: i64, by_ms: i64) -> Vec<(i64, ClockChange)> {
        let at = |s: i64| s * SECOND_MS;
        let looks = (from_s..to_s).map(|s| (s, follower.look(START + at(s) + by_ms, at(s))));
        looks.filter_map(|(s, change)| Some((s, change?))).collect()
    }

    #[test]
    fn a_jump_is_told_with_both_sizes_and_followed_after_a_minute() {
        for by_ms in [-25 * HOUR_MS, -HOUR_MS, -20_000, 20_000, 8 * HOUR_MS, 25 * HOUR_MS] {
            let mut follower = Follower::new(START, 0);
            assert_eq!(look(&mut follower, 1, 10, 0), []);
            let jumped = ClockChange::Jumped { machine_ms: by_ms + SECOND_MS, monotonic_ms: SECOND_MS };
            assert_eq!(look(&mut follower, 10, 70, by_ms), [(10, jumped)]);
            assert_eq!((follower.now(70_000), follower.is_apart()), (START + 70_000, true), "{by_ms}");
            assert_eq!(look(&mut follower, 70, 90, by_ms), [(70, ClockChange::Followed { by_ms })]);
            assert_eq!((follower.now(90_000), follower.is_apart()), (START + 90_000 + by_ms, false));
        }
    }

    #[test]
    fn a_jump_that_is_taken_back_within_the_minute_changes_nothing() {
        let mut follower = Follower::new(START, 0);
        assert_eq!(look(&mut follower, 1, 50, 25 * HOUR_MS).len(), 1);
        assert_eq!(look(&mut follower, 50, 200, 0), [(50, ClockChange::Returned)]);
        assert_eq!(follower.now(200_000), START + 200_000);
    }

    #[test]
    fn another_jump_begins_the_minute_anew() {
        let mut follower = Follower::new(START, 0);
        look(&mut follower, 1, 40, HOUR_MS);
        let changes = look(&mut follower, 40, 120, -HOUR_MS);
        assert_eq!(changes[0].0, 40);
        assert_eq!(changes[1..], [(100, ClockChange::Followed { by_ms: -HOUR_MS })]);
    }

    #[test]
    fn a_correction_of_a_second_and_a_clock_that_drifts_are_followed_at_once() {
        let mut follower = Follower::new(START, 0);
        for (s, by_ms) in [(1, 1_000), (2, -1_000), (3, 900)] {
            assert_eq!(look(&mut follower, s, s + 1, by_ms), []);
            assert_eq!(follower.now(s * SECOND_MS), START + s * SECOND_MS + by_ms);
        }
        for s in 5..5_000 {
            assert_eq!(look(&mut follower, s, s + 1, s * 5), [], "half a per cent");
        }
    }

    #[test]
    fn a_drift_during_the_minute_does_not_begin_it_anew() {
        let mut follower = Follower::new(START, 0);
        let drift = |s: i64| HOUR_MS + s * 100;
        let changes: Vec<_> = (1..62).flat_map(|s| look(&mut follower, s, s + 1, drift(s))).collect();
        let followed = ClockChange::Followed { by_ms: drift(61) };
        assert_eq!((changes.len(), changes[1]), (2, (61, followed)), "{changes:?}");
    }
}
