//! Fair turns: a bounded number of places is assigned to waiting accounts in a circle, one call each. So an account waits for at most one
//! call of each other account, however many they make. `K` identifies them if they are not accounts.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use overnight_domain::scheduler::AccountKey;
use tokio::sync::oneshot::{self, Sender};

#[derive(Debug)]
pub struct Turns<K: Copy + Eq + Hash = AccountKey>(Arc<Mutex<State<K>>>);

#[derive(Debug)]
struct State<K: Copy + Eq + Hash> {
    free: usize,
    /// The most places of one account.
    each: usize,
    /// The number of places of each account.
    held: HashMap<K, usize>,
    waiting: HashMap<K, VecDeque<Sender<Permit<K>>>>,
    /// The waiting accounts, each once, the next one in front.
    ring: VecDeque<K>,
}

/// The right to use a place; if dropped, it goes to the next in line.
#[derive(Debug)]
pub struct Permit<K: Copy + Eq + Hash = AccountKey>(Option<(Turns<K>, K)>);

impl<K: Copy + Eq + Hash> Turns<K> {
    /// With at least one place.
    pub fn over(places: usize) -> Self {
        Self::capped(places, usize::MAX)
    }

    /// With at most `each` places per account, at least one: slow work of one account leaves places for others.
    pub fn capped(places: usize, each: usize) -> Self {
        let state = State {
            free: places.max(1),
            each: each.max(1),
            held: HashMap::new(),
            waiting: HashMap::new(),
            ring: VecDeque::new(),
        };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Waits for the account's turn. A caller that stops waiting leaves the line. `None` only while the process ends.
    pub async fn take(&self, account: K) -> Option<Permit<K>> {
        let turn = {
            let mut state = self.lock();
            if state.may_have(account) {
                state.give(account);
                return Some(Permit(Some((self.share(), account))));
            }
            let (sender, turn) = oneshot::channel();
            state.line_up(account, sender);
            turn
        };
        turn.await.ok()
    }

    /// Frees a place, and gives a permit to the first in line who still waits and may have one.
    fn hand_on(&self, account: K) {
        let mut next = {
            let mut state = self.lock();
            state.take_back(account);
            state.next()
        };
        while let Some((account, sender)) = next {
            // The receiver may be gone: then the permit must not pass itself on as well.
            let Err(mut unwanted) = sender.send(Permit(Some((self.share(), account)))) else { return };
            drop(unwanted.0.take());
            let mut state = self.lock();
            state.take_back(account);
            next = state.next();
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
    fn may_have(&self, account: K) -> bool {
        self.free > 0 && self.held.get(&account).is_none_or(|held| *held < self.each)
    }

    fn give(&mut self, account: K) {
        self.free -= 1;
        *self.held.entry(account).or_default() += 1;
    }

    fn take_back(&mut self, account: K) {
        self.free += 1;
        let left = self.held.get(&account).map_or(0, |held| held.saturating_sub(1));
        match left {
            0 => self.held.remove(&account),
            left => self.held.insert(account, left),
        };
    }

    fn line_up(&mut self, account: K, sender: Sender<Permit<K>>) {
        let line = self.waiting.entry(account).or_default();
        if line.is_empty() {
            self.ring.push_back(account);
        }
        // Callers that left are forgotten here too, so that a line is no longer than its waiting calls.
        line.retain(|waiting| !waiting.is_closed());
        line.push_back(sender);
    }

    /// The account that gets the free place, and holds it from now on.
    fn next(&mut self) -> Option<(K, Sender<Permit<K>>)> {
        let place = self.ring.iter().position(|account| self.may_have(*account))?;
        let account = self.ring.remove(place)?;
        let line = self.waiting.get_mut(&account)?;
        let next = line.pop_front();
        if line.is_empty() {
            self.waiting.remove(&account);
        } else {
            self.ring.push_back(account);
        }
        self.give(account);
        next.map(|next| (account, next))
    }
}

impl<K: Copy + Eq + Hash> Drop for Permit<K> {
    fn drop(&mut self) {
        if let Some((turns, account)) = self.0.take() {
            turns.hand_on(account);
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
        assert!(
            state.free == 1 && state.waiting.is_empty() && state.ring.is_empty() && state.held.is_empty()
        );
    }

    #[tokio::test]
    async fn an_account_has_no_more_than_its_part_of_the_places_and_others_find_one_at_once() {
        let queue = Turns::capped(4, 2);
        let first = queue.take(GREEDY).await.expect("a permit");
        let second = queue.take(GREEDY).await.expect("a permit");
        let mut third = wait(&queue, GREEDY);
        let others = [queue.take(OTHER).await.expect("a permit"), queue.take(OTHER).await.expect("a permit")];
        let mut fourth = wait(&queue, OTHER);
        drop(others);
        assert!(third.as_mut().now_or_never().is_none(), "two places are free, and it has its part");
        let fourth = fourth.as_mut().now_or_never().expect("this one has not");
        drop(first);
        drop((third.now_or_never().expect("one of its own was given back"), fourth, second));
        let state = queue.lock();
        assert!(
            state.free == 4 && state.waiting.is_empty() && state.ring.is_empty() && state.held.is_empty()
        );
    }
}
