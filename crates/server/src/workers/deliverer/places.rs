//! Places among the tries under way.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use overnight_domain::webhooks::{Lane, Room};

/// The places of a process.
#[derive(Clone, Default)]
pub(super) struct Places(Arc<Mutex<Room>>);

impl Places {
    /// Takes one.
    pub(super) fn take(&self, lane: Lane) -> Place {
        self.room().take(lane);
        Place { places: self.clone(), lane }
    }

    /// How many may still be taken for a lane.
    pub(super) fn left(&self, lane: Lane) -> usize {
        self.room().left(lane)
    }

    /// How many are taken by the account of a lane.
    pub(super) fn taken_beside(&self, lane: Lane) -> usize {
        self.room().taken_by(lane.account())
    }

    /// How many are taken.
    pub(super) fn taken(&self) -> usize {
        self.room().taken()
    }

    fn room(&self) -> MutexGuard<'_, Room> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place that is taken; free again when it is dropped.
pub(super) struct Place {
    places: Places,
    lane: Lane,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.room().give_back(self.lane);
    }
}
