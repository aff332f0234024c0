//! How long suspects keep an engine from other work.

use std::collections::BTreeMap;

/// The cost of suspects for other requests.
#[derive(Debug)]
pub(super) struct Isolation {
    slots: usize,
    in_flight: BTreeMap<usize, bool>,
    since_us: u64,
    us: u64,
}

impl Isolation {
    pub(super) fn new(slots: u32) -> Self {
        Self { slots: slots as usize, in_flight: BTreeMap::new(), since_us: 0, us: 0 }
    }

    pub(super) fn pass(&mut self, do_others_wait: bool, now_us: u64) {
        let are_alone = !self.in_flight.is_empty() && self.in_flight.values().all(|is_suspect| *is_suspect);
        if are_alone && self.in_flight.len() < self.slots && do_others_wait {
            self.us += now_us - self.since_us;
        }
        self.since_us = now_us;
    }

    pub(super) fn send(&mut self, request: usize, is_suspect: bool) {
        self.in_flight.insert(request, is_suspect);
    }

    pub(super) fn end(&mut self, request: usize) {
        self.in_flight.remove(&request);
    }

    /// How long suspects had an engine to themselves, with a slot free, while other work waited.
    pub(super) fn seconds(&self) -> f64 {
        self.us as f64 / 1e6
    }
}
