//! Turns at work that takes time. Accounts take them round robin, so that an account's many requests delay another's by one turn.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;

#[derive(Debug)]
pub struct Turns {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    free: usize,
    /// Each account that waits, in the order in which they get the next turns, with its requests.
    waiting: VecDeque<(Arc<str>, VecDeque<oneshot::Sender<Turn>>)>,
}

/// The next request gets it when this is dropped.
#[derive(Debug)]
pub struct Turn {
    turns: Option<Arc<Turns>>,
}

impl Turns {
    /// `count` turns are taken at a time.
    #[must_use]
    pub fn new(count: usize) -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(State { free: count, waiting: VecDeque::new() }) })
    }

    /// Waits for a turn. If the future is dropped, the request no longer waits.
    pub async fn wait(self: &Arc<Self>, account: &Arc<str>) -> Turn {
        let waits = {
            let mut state = self.state();
            if state.free > 0 {
                state.free -= 1;
                return self.turn();
            }
            let (sender, waits) = oneshot::channel();
            match state.waiting.iter_mut().find(|(waiting, _)| waiting == account) {
                Some((_, requests)) => requests.push_back(sender),
                None => state.waiting.push_back((Arc::clone(account), VecDeque::from([sender]))),
            }
            waits
        };
        // The sender lives until it has sent.
        waits.await.unwrap_or(Turn { turns: None })
    }

    fn turn(self: &Arc<Self>) -> Turn {
        Turn { turns: Some(Arc::clone(self)) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands an ended turn to the next request that still waits.
    fn hand_on(self: &Arc<Self>) {
        let mut state = self.state();
        while let Some((account, mut requests)) = state.waiting.pop_front() {
            while let Some(next) = requests.pop_front() {
                match next.send(self.turn()) {
                    Ok(()) => {
                        if !requests.is_empty() {
                            state.waiting.push_back((account, requests));
                        }
                        return;
                    }
                    // The client has left. The turn is handed on here, and not when this value is dropped.
                    Err(mut unsent) => unsent.turns = None,
                }
            }
        }
        state.free += 1;
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(turns) = self.turns.take() {
            turns.hand_on();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::Future,
        pin::{Pin, pin},
        sync::Arc,
        task::{Context, Poll, Waker},
    };

    use super::{Turn, Turns};

    type Waiting = Pin<Box<dyn Future<Output = Turn>>>;

    fn wait(turns: &Arc<Turns>, account: &str) -> Waiting {
        let (turns, account) = (Arc::clone(turns), Arc::from(account));
        let mut waiting: Waiting = Box::pin(async move { turns.wait(&account).await });
        assert!(poll(&mut waiting).is_none());
        waiting
    }

    fn poll(waiting: &mut Waiting) -> Option<Turn> {
        match pin!(waiting).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(turn) => Some(turn),
            Poll::Pending => None,
        }
    }

    async fn take(turns: &Arc<Turns>) -> Turn {
        turns.wait(&Arc::from("first")).await
    }

    #[tokio::test]
    async fn accounts_take_turns_however_many_requests_one_has() {
        let turns = Turns::new(1);
        let first = take(&turns).await;
        let mut many: Vec<_> = (0..3).map(|_| wait(&turns, "many")).collect();
        let mut one = wait(&turns, "one");
        drop(first);
        let turn = poll(&mut many[0]).expect("the first that came");
        assert!(poll(&mut one).is_none() && poll(&mut many[1]).is_none());
        drop(turn);
        assert!(poll(&mut many[1]).is_none());
        drop(poll(&mut one).expect("another account's turn"));
        drop(poll(&mut many[1]).expect("the next"));
        drop(poll(&mut many[2]).expect("the last"));
        drop(take(&turns).await);
    }

    #[tokio::test]
    async fn requests_that_left_take_no_turn_and_lose_none() {
        let turns = Turns::new(1);
        let first = take(&turns).await;
        let (left, mut stays, leaves) = (wait(&turns, "a"), wait(&turns, "b"), wait(&turns, "a"));
        drop(left);
        drop(first);
        assert!(poll(&mut stays).is_none(), "it comes after the other request of a");
        // It was given the turn, and leaves before it takes it.
        drop(leaves);
        drop(poll(&mut stays).expect("a turn"));
        drop(take(&turns).await);
    }

    #[tokio::test]
    async fn as_many_turns_as_there_are_run_together() {
        let turns = Turns::new(2);
        let (first, second) = (take(&turns).await, take(&turns).await);
        let mut third = wait(&turns, "third");
        drop(second);
        let third = poll(&mut third).expect("a turn");
        let _fourth = wait(&turns, "fourth");
        drop((first, third));
    }
}
