//! Turns by account: of those who wait for a bounded number of places the accounts are served in a circle, one call each. So an
//! account waits for at most one call of each other, however many they ask for. Where others ask than accounts, `K` tells them
//! apart.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use overnight_domain::scheduler::AccountKey;
use tokio::sync::oneshot::{self, Sender};

/// Places, and who waits for one.
#[derive(Debug)]
pub(crate) struct Turns<K: Copy + Eq + Hash = AccountKey>(Arc<Mutex<State<K>>>);

#[derive(Debug)]
struct State<K: Copy + Eq + Hash> {
    free: usize,
    waiting: HashMap<K, VecDeque<Sender<Permit<K>>>>,
    /// The accounts that wait, each once; whose turn is next in front.
    ring: VecDeque<K>,
}

/// The right to use a place; dropped, it goes to the next in line.
#[derive(Debug)]
pub(crate) struct Permit<K: Copy + Eq + Hash = AccountKey>(Option<Turns<K>>);

impl<K: Copy + Eq + Hash> Turns<K> {
    /// With so many places, and one at least.
    pub(crate) fn over(places: usize) -> Self {
        let free = places.max(1);
        Self(Arc::new(Mutex::new(State { free, waiting: HashMap::new(), ring: VecDeque::new() })))
    }

    /// Waits for the account's turn. Whoever stops waiting leaves the line. `None` only while the process ends.
    pub(crate) async fn take(&self, account: K) -> Option<Permit<K>> {
        let turn = {
            let mut state = self.lock();
            if state.free > 0 {
                state.free -= 1;
                return Some(Permit(Some(self.share())));
            }
            let (sender, turn) = oneshot::channel();
            state.line_up(account, sender);
            turn
        };
        turn.await.ok()
    }

    /// Gives a permit to the first in line who still waits.
    fn hand_on(self) {
        loop {
            let next = {
                let mut state = self.lock();
                let next = state.next();
                state.free += usize::from(next.is_none());
                next
            };
            let Some(next) = next else { return };
            match next.send(Permit(Some(self.share()))) {
                Ok(()) => return,
                // Nobody waits for it any more: it must not hand itself on as well.
                Err(mut unwanted) => drop(unwanted.0.take()),
            }
        }
    }

    fn share(&self) -> Self {
        Self(Arc::clone(&self.0))
    }

    fn lock(&self) -> MutexGuard<'_, State<K>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Copy + Eq + Hash> State<K> {
    fn line_up(&mut self, account: K, sender: Sender<Permit<K>>) {
        let line = self.waiting.entry(account).or_default();
        if line.is_empty() {
            self.ring.push_back(account);
        }
        // Who left is forgotten here too, so that a line is no longer than the calls that wait in it.
        line.retain(|waiting| !waiting.is_closed());
        line.push_back(sender);
    }

    fn next(&mut self) -> Option<Sender<Permit<K>>> {
        let account = self.ring.pop_front()?;
        let line = self.waiting.get_mut(&account)?;
        let next = line.pop_front();
        if line.is_empty() {
            self.waiting.remove(&account);
        } else {
            self.ring.push_back(account);
        }
        next
    }
}

impl<K: Copy + Eq + Hash> Drop for Permit<K> {
    fn drop(&mut self) {
        if let Some(queue) = self.0.take() {
            queue.hand_on();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use futures_util::future::BoxFuture;

    use super::*;

    const GREEDY: AccountKey = AccountKey(1);
    const OTHER: AccountKey = AccountKey(2);

    /// Waits in line, from now on.
    fn wait(queue: &Turns, account: AccountKey) -> BoxFuture<'static, Permit> {
        let queue = queue.share();
        let mut turn = async move { queue.take(account).await.expect("a turn") }.boxed();
        assert!(turn.as_mut().now_or_never().is_none());
        turn
    }

    #[tokio::test]
    async fn an_account_waits_for_one_call_of_another_however_many_it_asks_for() {
        let queue = Turns::over(2);
        let first = queue.take(GREEDY).await.expect("a permit");
        let second = queue.take(GREEDY).await.expect("a permit");
        let mut greedy: Vec<_> = (0..30).map(|_| wait(&queue, GREEDY)).collect();
        let other = wait(&queue, OTHER);
        drop(first);
        let third = greedy.remove(0).now_or_never().expect("it came first");
        drop(second);
        let others = other.now_or_never().expect("its turn comes next");
        drop((third, others));
        assert!(greedy.remove(0).now_or_never().is_some());
    }

    #[tokio::test]
    async fn who_leaves_the_line_is_passed_over_and_loses_no_permit() {
        let queue = Turns::over(1);
        let held = queue.take(GREEDY).await.expect("a permit");
        drop((0..1_000).map(|_| wait(&queue, GREEDY)).collect::<Vec<_>>());
        let unread = wait(&queue, GREEDY);
        assert_eq!(queue.lock().waiting[&GREEDY].len(), 1);
        let other = wait(&queue, OTHER);
        drop(held);
        drop(unread);
        drop(other.now_or_never().expect("it was handed on by who left with it"));
        let state = queue.lock();
        assert!(state.free == 1 && state.waiting.is_empty() && state.ring.is_empty());
    }
}
