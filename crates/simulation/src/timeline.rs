//! Virtual time: what happens next, and what the machine's clock shows meanwhile.

use std::collections::BTreeMap;
use std::sync::Arc;

use overnight_server::clock::ManualClock;

use super::events::Event;

/// When the machine's clock stands at the beginning, in milliseconds since the epoch.
const START: i64 = 1_750_000_000_000;

/// Names a planned event.
pub(super) type Slot = (i64, u64);

/// Events in the order of elapsed time. The clock shows elapsed time plus an offset, and a jump changes the offset only, as
/// the system clock of a machine that slept or was set does.
#[derive(Debug)]
pub(super) struct Timeline {
    elapsed: i64,
    offset: i64,
    clock: Arc<ManualClock>,
    events: BTreeMap<Slot, Event>,
    serial: u64,
}

impl Timeline {
    pub(super) fn new() -> Self {
        let clock = ManualClock::at(START);
        Self { elapsed: 0, offset: START, clock, events: BTreeMap::new(), serial: 0 }
    }

    pub(super) fn clock(&self) -> Arc<ManualClock> {
        Arc::clone(&self.clock)
    }

    /// What the machine's clock shows, in milliseconds.
    pub(super) const fn now(&self) -> i64 {
        self.elapsed + self.offset
    }

    /// Milliseconds since the run began.
    pub(super) const fn elapsed(&self) -> i64 {
        self.elapsed
    }

    /// Plans an event in `ms`, behind those that are planned for the same time.
    pub(super) fn after(&mut self, ms: i64, event: Event) -> Slot {
        self.serial += 1;
        let slot = (self.elapsed + ms.max(0), self.serial);
        self.events.insert(slot, event);
        slot
    }

    pub(super) fn cancel(&mut self, slot: Slot) {
        self.events.remove(&slot);
    }

    /// Goes on to the next event.
    pub(super) fn next(&mut self) -> Option<Event> {
        let ((at, _), event) = self.events.pop_first()?;
        self.elapsed = self.elapsed.max(at);
        self.clock.set(self.now());
        Some(event)
    }

    /// Sets the machine's clock forward or back.
    pub(super) fn jump(&mut self, ms: i64) {
        self.offset += ms;
        self.clock.set(self.now());
    }

    /// Drops what `keeps` does not keep.
    pub(super) fn retain(&mut self, keeps: impl Fn(&Event) -> bool) {
        self.events.retain(|_, event| keeps(event));
    }
}
