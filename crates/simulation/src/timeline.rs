//! Virtual time: the next event, and the clocks of the machine and of the service.

use std::collections::BTreeMap;
use std::sync::Arc;

use overnight_base::clock::{ClockChange, Follower, ManualClock};

use super::events::Event;

/// The machine's clock at the beginning, in milliseconds since the epoch.
const START: i64 = 1_750_000_000_000;

pub(super) type Slot = (i64, u64);

/// Events in order of elapsed time. The machine's clock is elapsed time plus an offset, which a jump changes, as when a machine slept or
/// its clock was set. The service's clock follows it.
#[derive(Debug)]
pub(super) struct Timeline {
    elapsed: i64,
    offset: i64,
    follower: Follower,
    clock: Arc<ManualClock>,
    events: BTreeMap<Slot, Event>,
    serial: u64,
}

impl Timeline {
    pub(super) fn new() -> Self {
        let clock = ManualClock::at(START);
        let follower = Follower::new(START, 0);
        Self { elapsed: 0, offset: START, follower, clock, events: BTreeMap::new(), serial: 0 }
    }

    pub(super) fn clock(&self) -> Arc<ManualClock> {
        Arc::clone(&self.clock)
    }

    /// The service's clock, in milliseconds.
    pub(super) const fn now(&self) -> i64 {
        self.follower.now(self.elapsed)
    }

    /// Milliseconds since the run began.
    pub(super) const fn elapsed(&self) -> i64 {
        self.elapsed
    }

    /// Schedules an event in `ms`, after the events of the same time.
    pub(super) fn after(&mut self, ms: i64, event: Event) -> Slot {
        self.serial += 1;
        let slot = (self.elapsed + ms.max(0), self.serial);
        self.events.insert(slot, event);
        slot
    }

    pub(super) fn cancel(&mut self, slot: Slot) {
        self.events.remove(&slot);
    }

    pub(super) fn next(&mut self) -> Option<Event> {
        let ((at, _), event) = self.events.pop_first()?;
        self.elapsed = self.elapsed.max(at);
        self.clock.set(self.now());
        Some(event)
    }

    /// Moves the machine's clock forward or back.
    pub(super) const fn jump(&mut self, ms: i64) {
        self.offset += ms;
    }

    /// The service compares the clocks, as it does once a second. Returns how far its own clock moved, if it followed a jump.
    pub(super) fn look(&mut self) -> Option<i64> {
        let change = self.follower.look(self.elapsed + self.offset, self.elapsed);
        self.clock.set(self.now());
        match change? {
            ClockChange::Followed { by_ms } => Some(by_ms),
            ClockChange::Jumped { .. } | ClockChange::Returned => None,
        }
    }

    /// Whether the machine's clock has jumped and is not followed yet.
    pub(super) const fn is_apart(&self) -> bool {
        self.follower.is_apart()
    }

    /// The process starts with the machine's time.
    pub(super) fn start_clock(&mut self) {
        self.follower = Follower::new(self.elapsed + self.offset, self.elapsed);
        self.clock.set(self.now());
    }

    pub(super) fn retain(&mut self, keeps: impl Fn(&Event) -> bool) {
        self.events.retain(|_, event| keeps(event));
    }
}
