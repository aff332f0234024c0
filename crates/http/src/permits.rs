//! Permits for connections, limited in total and per address. If there are none left, an idle connection makes room: the one that has been
//! idle longest, of the address with the most. If none is idle, a connection makes room whose calls all lack the key of an account, because
//! they would keep out clients with keys. Otherwise the new connection is in the reserve, where only the health paths are served.
//!
//! A connection that makes room begins no more calls, so a connection that is no longer counted ends.
//!
//! The reserve cannot be filled: its oldest connection makes room too, of the address with the most there. So an address that connects
//! often displaces only itself.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use overnight_app::ClientNetwork;

use super::activity::{Activity, Loss};
use super::counters;

/// A connection chosen to make room may begin a call before it is told. Then another is chosen, up to this many times.
const TRIES_MAX: usize = 8;

/// Connections beyond the limit.
const RESERVE_MAX: usize = 64;

/// Marks a call of a connection in the reserve.
#[derive(Debug, Clone, Copy)]
pub(super) struct IsReserve;

/// The network of a connection, and its limit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin {
    pub(super) network: ClientNetwork,
    /// Whether it is a trusted proxy, which speaks for many clients.
    pub(super) is_proxy: bool,
}

/// The permits of one listener.
pub(super) struct ConnectionPermits {
    max: usize,
    per_network: usize,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    served: Connections,
    reserve: Connections,
    /// The number of the next connection, in order of arrival.
    next: u64,
}

#[derive(Default)]
struct Connections {
    count: usize,
    /// Proxies sort last.
    by_origin: BTreeMap<(bool, ClientNetwork), BTreeMap<u64, Arc<Activity>>>,
}

/// The permit of a connection; free again when it is dropped.
pub(super) struct ConnectionPermit {
    permits: Arc<ConnectionPermits>,
    origin: Origin,
    number: u64,
    /// Whether only the health paths are served.
    pub(super) is_reserve: bool,
}

impl ConnectionPermits {
    /// `max` permits, of which one network that is not a proxy gets at most `per_network`.
    pub(super) fn new(max: usize, per_network: usize) -> Arc<Self> {
        Arc::new(Self { max, per_network, open: Mutex::default() })
    }

    pub(super) fn take(self: &Arc<Self>, origin: Origin, activity: &Arc<Activity>) -> ConnectionPermit {
        let mut open = self.lock();
        let of_network = if origin.is_proxy { 0 } else { open.served.count_of(origin) };
        let is_reserve = if of_network >= self.per_network {
            !open.served.make_room(Some(origin))
        } else {
            open.served.count >= self.max && !open.served.make_room(None)
        };
        let number = open.next;
        open.next += 1;
        if is_reserve {
            let limit = if of_network >= self.per_network { "address" } else { "process" };
            counters::count_crowded(limit);
            if open.reserve.count >= RESERVE_MAX {
                open.reserve.close_oldest();
            }
        }
        open.part(is_reserve).insert(origin, number, Arc::clone(activity));
        ConnectionPermit { permits: Arc::clone(self), origin, number, is_reserve }
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn part(&mut self, is_reserve: bool) -> &mut Connections {
        if is_reserve { &mut self.reserve } else { &mut self.served }
    }
}

impl Connections {
    fn count_of(&self, origin: Origin) -> usize {
        self.by_origin.get(&origin.key()).map_or(0, BTreeMap::len)
    }

    fn insert(&mut self, origin: Origin, number: u64, activity: Arc<Activity>) {
        self.by_origin.entry(origin.key()).or_default().insert(number, activity);
        self.count += 1;
    }

    fn remove(&mut self, key: (bool, ClientNetwork), number: u64) -> Option<Arc<Activity>> {
        let of_origin = self.by_origin.get_mut(&key)?;
        let activity = of_origin.remove(&number)?;
        if of_origin.is_empty() {
            self.by_origin.remove(&key);
        }
        self.count -= 1;
        Some(activity)
    }

    /// Closes the connection with the smallest loss, for the longest time: of `origin`, or of the origin with the most connections that has
    /// a closable one. `false` if every one has a call of an account.
    fn make_room(&mut self, origin: Option<Origin>) -> bool {
        let only = origin.map(Origin::key);
        for _ in 0..TRIES_MAX {
            let Some((key, number, loss)) = self.dispensable(only) else { return false };
            let has_left = |of_origin: &BTreeMap<u64, Arc<Activity>>| of_origin[&number].make_room(loss);
            if self.by_origin.get(&key).is_some_and(has_left) {
                self.remove(key, number);
                return true;
            }
        }
        false
    }

    /// The best connection to close.
    fn dispensable(&self, only: Option<(bool, ClientNetwork)>) -> Option<((bool, ClientNetwork), u64, Loss)> {
        let looked_at = self.by_origin.iter().filter(|(key, _)| only.is_none_or(|only| only == **key));
        let first_of_each = looked_at.filter_map(|(key, connections)| {
            let may_be_closed =
                connections.iter().filter_map(|(number, it)| Some((it.if_closed()?, *number)));
            may_be_closed
                .min()
                .map(|((loss, since), number)| (*key, connections.len(), loss, (since, number)))
        });
        let rank = |(key, count, loss, longest): &((bool, ClientNetwork), usize, Loss, (i64, u64))| {
            (!key.0, Reverse(*loss), *count, Reverse(*longest))
        };
        first_of_each.max_by_key(rank).map(|(key, _, loss, (_, number))| (key, number, loss))
    }

    /// Closes the oldest connection of the origin with the most.
    fn close_oldest(&mut self) {
        let oldest = self
            .by_origin
            .iter()
            .filter_map(|(key, connections)| Some((*key, connections.len(), *connections.keys().next()?)));
        let chosen = oldest.max_by_key(|(_, count, number)| (*count, Reverse(*number)));
        if let Some(activity) = chosen.and_then(|(key, _, number)| self.remove(key, number)) {
            activity.ask_to_leave();
        }
    }
}

impl Origin {
    fn key(self) -> (bool, ClientNetwork) {
        (self.is_proxy, self.network)
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.permits.lock().part(self.is_reserve).remove(self.origin.key(), self.number);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use overnight_base::clock::{ManualClock, SharedClock};

    use super::*;

    /// A connection from `192.0.2.host`, each opened at a different time.
    struct Opened {
        activity: Arc<Activity>,
        permit: ConnectionPermit,
    }

    impl Opened {
        fn was_closed(&self) -> bool {
            self.activity.asked_to_leave().now_or_never().is_some()
        }
    }

    struct World {
        clock: Arc<ManualClock>,
        permits: Arc<ConnectionPermits>,
    }

    impl World {
        fn new(max: usize, per_network: usize) -> Self {
            Self { clock: ManualClock::at(0), permits: ConnectionPermits::new(max, per_network) }
        }

        fn open(&self, host: u8) -> Opened {
            self.open_from(host, false)
        }

        fn open_from(&self, host: u8, is_proxy: bool) -> Opened {
            let clock: SharedClock = self.clock.clone();
            self.clock.set(clock.now() + 1);
            let activity = Activity::new(&clock);
            let network = ClientNetwork::of([192, 0, 2, host].into());
            let permit = self.permits.take(Origin { network, is_proxy }, &activity);
            Opened { activity, permit }
        }
    }

    #[test]
    fn the_longest_idle_connection_of_whoever_has_the_most_makes_room() {
        let world = World::new(4, 4);
        let (alone, first, second, third) = (world.open(1), world.open(2), world.open(2), world.open(2));
        let _call = first.activity.begin(true);
        let newcomer = world.open(3);
        assert!(!newcomer.permit.is_reserve && second.was_closed());
        assert!(!alone.was_closed() && !first.was_closed() && !third.was_closed());
        // A permit that was given away is not freed twice.
        drop(second);
        assert!(!world.open(4).permit.is_reserve && third.was_closed());
    }

    #[test]
    fn whoever_has_as_many_as_one_may_makes_room_for_itself() {
        let world = World::new(9, 2);
        let (other, first, second) = (world.open(1), world.open(2), world.open(2));
        assert!(!world.open(2).permit.is_reserve && first.was_closed());
        let newest = world.open(2);
        assert!(!newest.permit.is_reserve && !other.was_closed());
        let _calls = [second.activity.begin(true), newest.activity.begin(true)];
        assert!(world.open(2).permit.is_reserve && !world.open(3).permit.is_reserve);
    }

    #[test]
    fn where_none_is_idle_calls_without_a_key_make_room_for_whoever_comes() {
        let world = World::new(4, 4);
        let connections = [world.open(1), world.open(2), world.open(2), world.open(2)];
        let [alone, keyed, first, second] = &connections;
        let _calls = [false, true, false, false].map({
            let mut connections = connections.iter();
            move |is_keyed| connections.next().and_then(|it| it.activity.begin(is_keyed))
        });
        let newcomer = world.open(3);
        assert!(!newcomer.permit.is_reserve && first.was_closed() && first.activity.begin(true).is_none());
        assert!(!alone.was_closed() && !keyed.was_closed() && !second.was_closed());
        // Idle connections go first.
        assert!(!world.open(4).permit.is_reserve && newcomer.was_closed() && !second.was_closed());
    }

    #[test]
    fn an_address_with_all_of_its_own_makes_room_among_its_calls_without_a_key() {
        let world = World::new(9, 2);
        let (first, second) = (world.open(1), world.open(1));
        let _calls = [first.activity.begin(true), second.activity.begin(false)];
        assert!(!world.open(1).permit.is_reserve && second.was_closed() && !first.was_closed());
    }

    #[test]
    fn a_proxy_may_have_all_and_makes_room_last() {
        let world = World::new(3, 1);
        let proxied = [world.open_from(1, true), world.open_from(1, true)];
        let direct = world.open(2);
        assert!(!proxied[1].permit.is_reserve && !world.open_from(1, true).permit.is_reserve);
        assert!(direct.was_closed() && !proxied[0].was_closed());
    }

    #[test]
    fn one_address_displaces_only_itself_in_the_reserve() {
        let world = World::new(1, 1);
        let served = world.open(1);
        let _call = served.activity.begin(true);
        let other = world.open(3);
        let flood: Vec<_> = (0..2 * RESERVE_MAX).map(|_| world.open(2)).collect();
        assert!(flood.iter().all(|it| it.permit.is_reserve) && other.permit.is_reserve);
        assert!(!served.was_closed() && !other.was_closed() && flood[0].was_closed());
        assert_eq!(world.permits.lock().reserve.count, RESERVE_MAX);
        drop(flood);
        let newest = world.open(2);
        let crowd: Vec<_> = (100_u8..).take(RESERVE_MAX).map(|host| world.open(host)).collect();
        // Of origins with one connection each, the oldest goes.
        assert!(other.was_closed() && newest.was_closed() && !crowd[0].was_closed());
        drop((newest, crowd, other));
        assert_eq!(world.permits.lock().reserve.count, 0);
    }
}
