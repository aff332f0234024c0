//! Handshakes of TLS compute signatures. They run on low-priority threads, so calls on open connections do not wait for them. Networks take
//! turns, one step of a handshake each, and each network has a rate. A handshake that waits keeps its time limit.

use std::io;
use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::task::Poll;

use futures_util::{pending, poll};
use overnight_app::ClientNetwork;
use overnight_base::clock::SharedClock;
use overnight_base::tasks::ASIDE_THREADS;
use overnight_base::turns::Turns;
use overnight_domain::token_buckets::{Rate, TokenBuckets};

use crate::counters;
use crate::permits::Origin;

/// 512 together, as many as the connections of one address by default, and then 100 a second.
const RATE: Rate = Rate::new(100, 1_000, 5_120);

/// The maximum number of networks with a rate; handshakes of others begin until some of these are dropped.
const NETWORKS_MAX: usize = 16_384;

pub(super) struct Handshakes {
    /// Handshakes that may not begin yet: the first of each network waits for the rate, the others for the first.
    lines: Turns<ClientNetwork>,
    begun: Mutex<TokenBuckets<ClientNetwork>>,
    steps: Turns<ClientNetwork>,
}

impl Handshakes {
    pub(super) fn new() -> Self {
        Self {
            lines: Turns::capped(usize::MAX, 1),
            begun: Mutex::new(TokenBuckets::new(NETWORKS_MAX)),
            steps: Turns::over(*ASIDE_THREADS),
        }
    }

    /// Returns when a handshake of `origin` may begin. Trusted proxies speak for many clients and have no rate.
    pub(super) async fn may_begin(&self, origin: Origin, clock: &SharedClock) {
        if origin.is_proxy {
            return;
        }
        let _first = self.lines.take(origin.network).await;
        let mut has_waited = false;
        while let Err(wait_ms) = self.begin(origin.network, clock.now()) {
            if !has_waited {
                counters::count_handshake_throttled();
            }
            has_waited = true;
            clock.sleep_until(clock.now() + wait_ms).await;
        }
    }

    /// Counts a handshake that begins, or fails with the milliseconds that it must wait.
    fn begin(&self, network: ClientNetwork, now: i64) -> Result<(), i64> {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.keep(network, RATE, now).map_or(Ok(()), |bucket| bucket.take(now))
    }

    /// Performs a handshake, each step in a turn of its network. A silent client holds no turn.
    pub(super) async fn perform<T>(
        &self,
        network: ClientNetwork,
        handshake: impl Future<Output = io::Result<T>>,
    ) -> io::Result<T> {
        let mut handshake = pin!(handshake);
        loop {
            let turn = self.steps.take(network).await;
            if let Poll::Ready(opened) = poll!(handshake.as_mut()) {
                return opened;
            }
            drop(turn);
            pending!();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

    use futures_util::FutureExt;
    use overnight_base::clock::{Clock, ManualClock, Sleep};

    use super::*;

    fn from(host: u8, is_proxy: bool) -> Origin {
        Origin { network: ClientNetwork::of([192, 0, 2, host].into()), is_proxy }
    }

    #[test]
    fn handshakes_beyond_the_rate_of_their_network_wait_and_others_do_not() {
        let (handshakes, manual) = (Handshakes::new(), ManualClock::at(1_000));
        let clock: SharedClock = manual.clone();
        let begins = |origin| handshakes.may_begin(origin, &clock).boxed();
        for number in 0..RATE.burst() {
            assert!(begins(from(1, false)).now_or_never().is_some(), "{number}");
        }
        let (mut first, mut second) = (begins(from(1, false)), begins(from(1, false)));
        assert!(first.as_mut().now_or_never().is_none() && second.as_mut().now_or_never().is_none());
        assert!(begins(from(2, false)).now_or_never().is_some());
        assert!(begins(from(1, true)).now_or_never().is_some());
        manual.set(1_010);
        assert!(second.as_mut().now_or_never().is_none(), "it is behind the first");
        drop(first);
        assert!(second.now_or_never().is_some());
        assert!(begins(from(1, false)).now_or_never().is_none());
    }

    /// A clock whose time passes when it is waited for.
    #[derive(Debug)]
    struct Passing(AtomicI64);

    impl Clock for Passing {
        fn now(&self) -> i64 {
            self.0.load(Ordering::Relaxed)
        }

        fn sleep_until(&self, at: i64) -> Sleep {
            self.0.store(at, Ordering::Relaxed);
            Box::pin(std::future::ready(()))
        }
    }

    #[test]
    fn a_handshake_begins_when_the_rate_allows_it() {
        let (handshakes, clock) = (Handshakes::new(), Arc::new(Passing(AtomicI64::new(1_000))));
        let clock: SharedClock = clock;
        for number in 0..RATE.burst() + 200 {
            assert!(handshakes.may_begin(from(1, false), &clock).now_or_never().is_some());
            assert_eq!(clock.now(), 1_000 + (number + 1 - RATE.burst()).max(0) * 10, "{number}");
        }
    }

    #[test]
    fn a_client_that_leaves_the_line_delays_none_behind_it() {
        let (handshakes, manual) = (Handshakes::new(), ManualClock::at(1_000));
        let clock: SharedClock = manual.clone();
        while handshakes.begin(from(1, false).network, 1_000).is_ok() {}
        let mut waiting: Vec<_> =
            (0..100).map(|_| handshakes.may_begin(from(1, false), &clock).boxed()).collect();
        for it in &mut waiting {
            assert!(it.as_mut().now_or_never().is_none());
        }
        let last = waiting.pop().expect("the last");
        drop(waiting);
        manual.set(1_010);
        assert!(last.now_or_never().is_some());
    }

    /// A handshake of two steps, whose second one waits for the client.
    async fn of_two_steps(steps: &AtomicUsize) -> io::Result<()> {
        steps.fetch_add(1, Ordering::Relaxed);
        pending!();
        steps.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    #[test]
    fn a_client_that_answers_nothing_holds_no_turn() {
        let (handshakes, steps) = (Handshakes::new(), Arc::new(AtomicUsize::new(0)));
        let network = from(1, false).network;
        let mut silent: Vec<_> =
            (0..100).map(|_| handshakes.perform(network, of_two_steps(&steps)).boxed_local()).collect();
        for it in &mut silent {
            assert!(it.as_mut().now_or_never().is_none());
        }
        assert_eq!(steps.load(Ordering::Relaxed), 100);
        let mut other = handshakes.perform(from(2, false).network, of_two_steps(&steps)).boxed_local();
        assert!(other.as_mut().now_or_never().is_none());
        assert!(other.now_or_never().is_some());
    }

    #[test]
    fn a_network_waits_for_one_step_of_another_and_not_for_all_of_its_handshakes() {
        let (handshakes, steps) = (Handshakes::new(), Arc::new(AtomicUsize::new(0)));
        let (greedy, other) = (from(1, false).network, from(2, false).network);
        let held: Vec<_> = (0..*ASIDE_THREADS)
            .map(|_| handshakes.steps.take(greedy).now_or_never().flatten().expect("a turn"))
            .collect();
        let mut flood: Vec<_> =
            (0..100).map(|_| handshakes.perform(greedy, of_two_steps(&steps)).boxed_local()).collect();
        for it in &mut flood {
            assert!(it.as_mut().now_or_never().is_none());
        }
        let mut honest = handshakes.perform(other, of_two_steps(&steps)).boxed_local();
        assert!(honest.as_mut().now_or_never().is_none());
        assert_eq!(steps.load(Ordering::Relaxed), 0);
        drop(held);
        assert!(flood[0].as_mut().now_or_never().is_none());
        assert!(honest.as_mut().now_or_never().is_none());
        assert_eq!(steps.load(Ordering::Relaxed), 2);
        for it in &mut flood[1..] {
            assert!(it.as_mut().now_or_never().is_none());
        }
        assert!(honest.now_or_never().is_some());
    }
}
