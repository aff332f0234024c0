//! Long reads take turns by account: half of the readers serve them, so that sign-in, scheduling and single records always
//! find another one, and of those who wait the accounts are served in a circle, one statement at a time. A statement reads
//! a bounded number of rows; so an account waits for at most one statement of each other, however many they ask for.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use overnight_domain::scheduler::AccountKey;
use tokio::sync::oneshot::{self, Sender};

use crate::store::StoreError;
use crate::store::database::{Readers, Row, Statement};

/// The right to do long reads, and who waits for it.
#[derive(Clone)]
pub(in crate::store) struct ReadQueue(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    free: usize,
    waiting: HashMap<AccountKey, VecDeque<Sender<Permit>>>,
    /// The accounts that wait, each once; whose turn is next in front.
    ring: VecDeque<AccountKey>,
}

/// The right to do one long read; dropped, it goes to the next in line.
pub(in crate::store) struct Permit(Option<ReadQueue>);

impl ReadQueue {
    /// With half of so many readers.
    pub(in crate::store) fn over(readers: u32) -> Self {
        let free = (readers as usize / 2).max(1);
        Self(Arc::new(Mutex::new(State { free, ..State::default() })))
    }

    /// Waits for the account's turn. Whoever stops waiting leaves the line.
    pub(in crate::store) async fn take(&self, account: AccountKey) -> Result<Permit, StoreError> {
        let turn = {
            let mut state = self.lock();
            if state.free > 0 {
                state.free -= 1;
                return Ok(Permit(Some(self.clone())));
            }
            let (sender, turn) = oneshot::channel();
            state.line_up(account, sender);
            turn
        };
        turn.await.map_err(|_| StoreError::Stopped)
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
            match next.send(Permit(Some(self.clone()))) {
                Ok(()) => return,
                // Nobody waits for it any more: it must not hand itself on as well.
                Err(mut unwanted) => drop(unwanted.0.take()),
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn line_up(&mut self, account: AccountKey, sender: Sender<Permit>) {
        let line = self.waiting.entry(account).or_default();
        if line.is_empty() {
            self.ring.push_back(account);
        }
        // Who left is forgotten here too, so that a line is no longer than the calls that wait in it.
        line.retain(|waiting| !waiting.is_closed());
        line.push_back(sender);
    }

    fn next(&mut self) -> Option<Sender<Permit>> {
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

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(queue) = self.0.take() {
            queue.hand_on();
        }
    }
}

/// Readers for the long reads of an account.
pub(in crate::store) struct LongReaders<'s> {
    pub(in crate::store) readers: &'s Readers,
    pub(in crate::store) queue: &'s ReadQueue,
    pub(in crate::store) account: AccountKey,
}

impl LongReaders<'_> {
    /// Every row of a read, in its turn.
    pub(in crate::store) async fn fetch_all(&self, statement: Statement) -> Result<Vec<Row>, StoreError> {
        let _permit = self.queue.take(self.account).await?;
        self.readers.fetch_all(statement).await
    }

    /// The first row of a read, if it has one, in its turn.
    pub(in crate::store) async fn fetch_optional(
        &self,
        statement: Statement,
    ) -> Result<Option<Row>, StoreError> {
        let _permit = self.queue.take(self.account).await?;
        self.readers.fetch_optional(statement).await
    }

    /// The first row of a read that always has one, in its turn.
    pub(in crate::store) async fn fetch_one(&self, statement: Statement) -> Result<Row, StoreError> {
        let _permit = self.queue.take(self.account).await?;
        self.readers.fetch_one(statement).await
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
    fn wait(queue: &ReadQueue, account: AccountKey) -> BoxFuture<'static, Permit> {
        let queue = queue.clone();
        let mut turn = async move { queue.take(account).await.expect("a turn") }.boxed();
        assert!(turn.as_mut().now_or_never().is_none());
        turn
    }

    #[tokio::test]
    async fn an_account_waits_for_one_read_of_another_however_many_it_asks_for() {
        let queue = ReadQueue::over(4);
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
        let queue = ReadQueue::over(1);
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
