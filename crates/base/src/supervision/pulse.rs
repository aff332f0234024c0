//! The heartbeat of a loop, and how the watchdog judges it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::{Failure, Fault};

/// A loop that has not turned for this long makes the process not ready.
pub(super) const NOT_READY_S: u32 = 30;

/// A loop that has not turned for this long ends the process. A commit on a slow disk takes far less.
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

    /// The loop waits for work or for the store. The watchdog ignores it until it turns again.
    pub fn rest(&self) {
        self.is_resting.store(true, Ordering::Relaxed);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Well,
    /// Logs that the process is no longer ready.
    Stalls,
    Ends,
}

/// A loop as the watchdog sees it.
#[derive(Default)]
pub(super) struct Watched {
    pub(super) pulse: Option<Arc<Pulse>>,
    turns: u64,
    /// Looks at the loop without a turn. Looks are counted instead of comparing times, so sleep of the machine has no effect.
    still_for: u32,
}

impl Watched {
    /// To be called once a second.
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

    /// Why this loop makes the process not ready.
    pub(super) fn trouble(&self, name: &'static str) -> Option<Failure> {
        let is_stalled = self.still_for >= NOT_READY_S;
        is_stalled.then_some(Failure { name, fault: Fault::Stalled(self.still_for) })
    }
}
