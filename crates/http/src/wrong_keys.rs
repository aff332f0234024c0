//! Limits wrong API keys, each of which costs a read of the store. Each network may send a number in a row, and then a number per minute;
//! further keys that never opened an account are refused without a lookup.

use std::sync::{Mutex, MutexGuard, PoisonError};

use overnight_app::ClientNetwork;
use overnight_domain::token_buckets::{Rate, TokenBuckets};

/// 300 in a row, and 300 a minute.
const RATE: Rate = Rate::new(300, 60_000, 60_000);

/// The maximum number of networks; keys of others are looked up until some of these are dropped.
const NETWORKS_MAX: usize = 16_384;

/// A token bucket of wrong keys for each network.
pub(super) struct WrongKeys(Mutex<TokenBuckets<ClientNetwork>>);

impl WrongKeys {
    pub(super) fn new() -> Self {
        Self(Mutex::new(TokenBuckets::new(NETWORKS_MAX)))
    }

    /// Counts a key that may be wrong, before its lookup. Fails with the milliseconds that the network must wait.
    pub(super) fn count(&self, network: ClientNetwork, now: i64) -> Result<(), i64> {
        self.buckets().keep(network, RATE, now).map_or(Ok(()), |bucket| bucket.take(now))
    }

    /// Uncounts a key that was not wrong.
    pub(super) fn take_back(&self, network: ClientNetwork) {
        if let Some(bucket) = self.buckets().get(network) {
            bucket.give_back();
        }
    }

    fn buckets(&self) -> MutexGuard<'_, TokenBuckets<ClientNetwork>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
        let keys = WrongKeys::new();
        for number in 0..300 {
            assert_eq!(keys.count(network(1), NOW), Ok(()), "{number}");
        }
        assert_eq!(keys.count(network(1), NOW), Err(200));
        assert_eq!(keys.count(network(2), NOW), Ok(()));
        assert_eq!(keys.count(network(1), NOW + 200), Ok(()));
        assert_eq!(keys.count(network(1), NOW + 201), Err(199));
    }

    #[test]
    fn right_keys_use_nothing_up() {
        let keys = WrongKeys::new();
        for number in 0..600 {
            assert_eq!(keys.count(network(1), NOW), Ok(()), "{number}");
            keys.take_back(network(1));
        }
    }

    #[test]
    fn keys_of_networks_beyond_the_bound_are_read() {
        let keys = WrongKeys::new();
        for number in (0..).take(2 * NETWORKS_MAX) {
            assert_eq!(keys.count(network(number), NOW), Ok(()));
        }
        assert_eq!((0..400).filter(|_| keys.count(network(u32::MAX), NOW).is_ok()).count(), 400);
    }
}
