//! Wrong API keys cost a read of the store each. So each network may bring a number of them in a row, and then so many a minute; the
//! next key that never opened an account is refused unread.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::app::ClientNetwork;

/// One wrong key is forgotten in so long, in milliseconds: 300 a minute.
const COST_MS: i64 = 200;

/// So many in a row are read at once.
const BURST: i64 = 300;

/// Networks that are kept; the keys of others are read until some of these are forgotten.
const NETWORKS_MAX: usize = 16_384;

/// Between two looks for networks to forget, in milliseconds.
const TIDIED_EVERY_MS: i64 = 1_000;

/// How many wrong keys came from each network, one by one forgotten.
#[derive(Default)]
pub(super) struct WrongKeys(Mutex<Counts>);

#[derive(Default)]
struct Counts {
    /// When the last wrong key of a network is forgotten, in milliseconds.
    forgotten_at: BTreeMap<ClientNetwork, i64>,
    tidied_at: i64,
}

impl WrongKeys {
    /// Counts a key that may be wrong, before it is read.
    ///
    /// # Errors
    ///
    /// How long the network has to wait, in milliseconds.
    pub(super) fn count(&self, network: ClientNetwork, now: i64) -> Result<(), i64> {
        let mut counts = self.counts();
        let forgotten_at = counts.forgotten_at.get(&network).copied().unwrap_or(now);
        // A clock that was set back makes nobody wait longer.
        let forgotten_at = forgotten_at.clamp(now, now + BURST * COST_MS) + COST_MS;
        let wait_ms = forgotten_at - (now + BURST * COST_MS);
        if wait_ms > 0 {
            return Err(wait_ms);
        }
        if counts.has_room(network, now) {
            counts.forgotten_at.insert(network, forgotten_at);
        }
        Ok(())
    }

    /// Takes a key off the count that was read, and was not wrong.
    pub(super) fn take_back(&self, network: ClientNetwork) {
        if let Some(forgotten_at) = self.counts().forgotten_at.get_mut(&network) {
            *forgotten_at -= COST_MS;
        }
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    fn has_room(&mut self, network: ClientNetwork, now: i64) -> bool {
        if self.forgotten_at.len() < NETWORKS_MAX || self.forgotten_at.contains_key(&network) {
            return true;
        }
        if !(0..TIDIED_EVERY_MS).contains(&(now - self.tidied_at)) {
            self.tidied_at = now;
            self.forgotten_at.retain(|_, forgotten_at| *forgotten_at > now);
        }
        self.forgotten_at.len() < NETWORKS_MAX
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const NOW: i64 = 1_000_000;

    fn network(number: u32) -> ClientNetwork {
        ClientNetwork::of(Ipv4Addr::from_bits(number).into())
    }

    #[test]
    fn a_burst_is_read_and_then_so_many_a_minute() {
        let keys = WrongKeys::default();
        for number in 0..BURST {
            assert_eq!(keys.count(network(1), NOW), Ok(()), "{number}");
        }
        assert_eq!(keys.count(network(1), NOW), Err(COST_MS));
        assert_eq!(keys.count(network(2), NOW), Ok(()));
        assert_eq!(keys.count(network(1), NOW + COST_MS), Ok(()));
        assert_eq!(keys.count(network(1), NOW + COST_MS + 1), Err(COST_MS - 1));
        let read: Vec<_> = (0..).map_while(|_| keys.count(network(1), NOW + 120_000).ok()).collect();
        assert_eq!(i64::try_from(read.len()), Ok(BURST));
        assert_eq!(keys.count(network(1), NOW), Err(COST_MS), "a clock that was set back");
    }

    #[test]
    fn right_keys_use_nothing_up() {
        let keys = WrongKeys::default();
        for number in 0..2 * BURST {
            assert_eq!(keys.count(network(1), NOW), Ok(()), "{number}");
            keys.take_back(network(1));
        }
    }

    #[test]
    fn no_more_than_the_bound_are_kept_and_old_ones_make_room() {
        let keys = WrongKeys::default();
        for number in (0..).take(2 * NETWORKS_MAX) {
            assert_eq!(keys.count(network(number), NOW), Ok(()));
        }
        assert_eq!(keys.counts().forgotten_at.len(), NETWORKS_MAX);
        assert_eq!(keys.count(network(u32::MAX), NOW + TIDIED_EVERY_MS), Ok(()));
        assert_eq!(keys.counts().forgotten_at.len(), 1);
    }
}
