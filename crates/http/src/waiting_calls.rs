//! Places of calls that wait for the ends of requests or follow a batch, which may take hours. Each account has a share of them. If all
//! places are taken, the account with the most loses its latest one to an account that has fewer.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The places of all clients of one kind `C`.
pub(super) struct WaitingCalls<C> {
    max: usize,
    max_of_client: usize,
    /// Counts taken places, as a difference.
    count: fn(f64),
    taken: Mutex<Taken<C>>,
}

struct Taken<C> {
    /// The places of each client, in order of arrival.
    of: BTreeMap<C, BTreeMap<u64, Arc<Notify>>>,
    count: usize,
    next: u64,
}

/// A place of a call; free again when it is dropped, unless it was lost before.
pub(super) struct WaitingPlace<C: Copy + Ord> {
    calls: Arc<WaitingCalls<C>>,
    client: C,
    number: u64,
    lost: Arc<Notify>,
}

impl<C: Copy + Ord> WaitingCalls<C> {
    /// `max` places in total, `max_of_client` of one client. `count` shows how many are taken.
    pub(super) fn new(max: usize, max_of_client: usize, count: fn(f64)) -> Arc<Self> {
        let taken = Taken { of: BTreeMap::new(), count: 0, next: 0 };
        Arc::new(Self { max, max_of_client, count, taken: Mutex::new(taken) })
    }

    /// A place for a call; `None` if the client has its share, or all are taken and no client has at least two more.
    pub(super) fn begin(self: &Arc<Self>, client: C) -> Option<WaitingPlace<C>> {
        let mut taken = self.lock();
        let own = taken.of.get(&client).map_or(0, BTreeMap::len);
        if own >= self.max_of_client || (taken.count >= self.max && !taken.make_room(own, self.count)) {
            return None;
        }
        let (number, lost) = (taken.next, Arc::new(Notify::new()));
        taken.next += 1;
        taken.count += 1;
        taken.of.entry(client).or_default().insert(number, Arc::clone(&lost));
        (self.count)(1.0);
        Some(WaitingPlace { calls: Arc::clone(self), client, number, lost })
    }

    fn lock(&self) -> MutexGuard<'_, Taken<C>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C: Copy + Ord> Taken<C> {
    /// Takes the latest place of the client with the most, if that is at least two more than `own`.
    fn make_room(&mut self, own: usize, count: fn(f64)) -> bool {
        let most = self.of.iter().max_by_key(|(_, places)| places.len());
        let Some((client, number)) = most
            .filter(|(_, places)| places.len() > own + 1)
            .and_then(|(client, places)| Some((*client, *places.last_key_value()?.0)))
        else {
            return false;
        };
        if let Some(lost) = self.remove(client, number, count) {
            lost.notify_one();
        }
        true
    }

    fn remove(&mut self, client: C, number: u64, count: fn(f64)) -> Option<Arc<Notify>> {
        let places = self.of.get_mut(&client)?;
        let place = places.remove(&number)?;
        if places.is_empty() {
            self.of.remove(&client);
        }
        self.count -= 1;
        count(-1.0);
        Some(place)
    }
}

impl<C: Copy + Ord> WaitingPlace<C> {
    /// Notified once another client has the place.
    pub(super) fn lost(&self) -> Arc<Notify> {
        Arc::clone(&self.lost)
    }
}

impl<C: Copy + Ord> Drop for WaitingPlace<C> {
    fn drop(&mut self) {
        self.calls.lock().remove(self.client, self.number, self.calls.count);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn is_lost(place: &WaitingPlace<u8>) -> bool {
        place.lost().notified().now_or_never().is_some()
    }

    #[test]
    fn a_client_has_its_share_of_places_and_gets_them_back() {
        let calls = WaitingCalls::new(9, 2, |_| {});
        let places = [calls.begin(1), calls.begin(1)];
        assert!(places.iter().all(Option::is_some) && calls.begin(1).is_none() && calls.begin(2).is_some());
        drop(places);
        assert!(calls.begin(1).is_some());
        let taken = calls.lock();
        assert_eq!((taken.count, taken.of.len()), (0, 0));
    }

    #[test]
    fn where_all_places_are_taken_the_client_with_the_most_loses_its_latest_to_one_with_fewer() {
        let calls = WaitingCalls::new(4, 4, |_| {});
        let mut greedy: Vec<_> = (0..4).map(|_| calls.begin(1).expect("a place")).collect();
        let honest = [calls.begin(2).expect("a place"), calls.begin(2).expect("a place")];
        assert!(calls.begin(2).is_none(), "both have two");
        assert!(calls.begin(1).is_none());
        let lost: Vec<bool> = greedy.iter().map(is_lost).collect();
        assert_eq!(lost, [false, false, true, true]);
        let third = calls.begin(3).expect("a place");
        assert!(calls.begin(3).is_none(), "one would have to lose its only place but one");
        // A lost place is not returned twice.
        greedy.truncate(2);
        assert_eq!(calls.lock().count, 4);
        drop((greedy, honest, third));
        assert_eq!(calls.lock().count, 0);
    }
}
