//! The heartbeat of a loop, and how the watchdog judges it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::{Failure, Fault};

/// A loop that has not turned for this many seconds makes the process not ready.
pub(super) const NOT_READY_S: u32 = 30;

/// A loop that has not turned for this many seconds ends the process. A commit on a slow disk takes far less.
pub(super) const ENDS_S: u32 = 300;

#[derive(Debug)]
pub struct Pulse {
    turns: AtomicU64,
    is_resting: AtomicBool,
    waits_for_others: bool,
}

impl Pulse {
    pub(super) const fn new(waits_for_others: bool) -> Self {
        Self { turns: AtomicU64::new(0), is_resting: AtomicBool::new(false), waits_for_others }
    }

    pub fn turn(&self) {
        self.turns.fetch_add(1, Ordering::Relaxed);
        self.is_resting.store(false, Ordering::Relaxed);
    }

    /// The loop waits for work or for the store. The watchdog does not judge it until it turns again.
    pub fn rest(&self) {
        self.is_resting.store(true, Ordering::Relaxed);
    }
}

/// What the watchdog does about a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Well,
    /// It logs that the process is not ready any more.
    Stalls,
    Ends,
}

/// A loop as the watchdog sees it.
#[derive(Default)]
pub(super) struct Watched {
    pub(super) pulse: Option<Arc<Pulse>>,
    turns: u64,
    /// For how many looks of the watchdog the loop has not turned. Looks are counted and no times compared, so a machine that
    /// slept finds each loop as far as it was.
    still_for: u32,
}

impl Watched {
    /// Looks at the loop, once a second, and returns a verdict.
    pub(super) fn look(&mut self) -> Verdict {
        let Some(pulse) = &self.pulse else { return Verdict::Well };
        let turns = pulse.turns.load(Ordering::Relaxed);
        let has_turned = std::mem::replace(&mut self.turns, turns) != turns;
        self.still_for = match has_turned || pulse.is_resting.load(Ordering::Relaxed) {
            true => 0,
            false => self.still_for.saturating_add(1),
        };
        match self.still_for {
            NOT_READY_S => Verdict::Stalls,
            ENDS_S if !pulse.waits_for_others => Verdict::Ends,
            _ => Verdict::Well,
        }
    }

    /// Why the process is not ready, if this loop is the reason.
    pub(super) fn trouble(&self, name: &'static str) -> Option<Failure> {
        let is_stalled = self.still_for >= NOT_READY_S;
        is_stalled.then_some(Failure { name, fault: Fault::Stalled(self.still_for) })
    }
}
