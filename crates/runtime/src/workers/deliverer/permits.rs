//! Permits bound the number of concurrent tries.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use overnight_domain::webhooks::{DeliveryLane, Room};

#[derive(Clone, Default)]
pub(super) struct Permits(Arc<Mutex<Room>>);

impl Permits {
    pub(super) fn take(&self, lane: DeliveryLane) -> Permit {
        self.room().take(lane);
        Permit { permits: self.clone(), lane }
    }

    pub(super) fn left(&self, lane: DeliveryLane) -> usize {
        self.room().left(lane)
    }

    pub(super) fn taken_beside(&self, lane: DeliveryLane) -> usize {
        self.room().taken_by(lane.account())
    }

    pub(super) fn taken(&self) -> usize {
        self.room().taken()
    }

    fn room(&self) -> MutexGuard<'_, Room> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) struct Permit {
    permits: Permits,
    lane: DeliveryLane,
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.permits.room().release(self.lane);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permit_counts_for_its_account_until_it_is_dropped() {
        let permits = Permits::default();
        let (lane, beside, other) = (DeliveryLane::of(1, 0), DeliveryLane::of(1, 1), DeliveryLane::of(2, 0));
        let held: Vec<Permit> = (0..3).map(|_| permits.take(lane)).collect();
        assert_eq!([lane, beside, other].map(|lane| permits.taken_beside(lane)), [3, 3, 0]);
        assert_eq!([lane, beside, other].map(|lane| permits.left(lane)), [5, 8, 8]);
        assert_eq!(permits.taken(), 3);
        drop(held);
        assert_eq!((permits.taken_beside(beside), permits.left(lane), permits.taken()), (0, 8, 0));
    }
}
