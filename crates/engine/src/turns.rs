//! Turns at work that takes time. Accounts take them round robin, so that an account's many requests delay another's by one turn.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{runtime::Handle, sync::oneshot};

use crate::clock::{self, Stopwatch};

/// No account rests after a shorter turn.
const LONG: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub struct Turns {
    rest: u32,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    free: usize,
    /// Accounts that rest, once for each long turn.
    resting: Vec<Arc<str>>,
    /// Each account that waits, in the order in which they get the next turns, with its requests.
    waiting: VecDeque<(Arc<str>, VecDeque<oneshot::Sender<Turn>>)>,
}

/// The next request gets it when this is dropped.
#[derive(Debug)]
pub struct Turn(Option<Taken>);

#[derive(Debug)]
struct Taken {
    turns: Arc<Turns>,
    account: Arc<str>,
    since: Stopwatch,
}

impl Turns {
    /// `count` turns are taken at a time. After a long one its account takes none for `rest` times as long.
    #[must_use]
    pub fn new(count: usize, rest: u32) -> Arc<Self> {
        let state = State { free: count, resting: Vec::new(), waiting: VecDeque::new() };
        Arc::new(Self { rest, state: Mutex::new(state) })
    }

    /// Waits for a turn. If the future is dropped, the request no longer waits.
    pub async fn wait(self: &Arc<Self>, account: &Arc<str>) -> Turn {
        let (sender, waits) = oneshot::channel();
        {
            let mut state = self.state();
            match state.waiting.iter_mut().find(|(waiting, _)| waiting == account) {
                Some((_, requests)) => requests.push_back(sender),
                None => state.waiting.push_back((Arc::clone(account), VecDeque::from([sender]))),
            }
            self.hand_out(state);
        }
        // The sender lives until it has sent.
        waits.await.unwrap_or(Turn(None))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands the free turns to requests that still wait.
    fn hand_out(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        while state.free > 0 {
            let next = state.waiting.iter().position(|(account, _)| !state.resting.contains(account));
            let Some((account, mut requests)) = next.and_then(|next| state.waiting.remove(next)) else {
                return;
            };
            while let Some(request) = requests.pop_front() {
                if self.hand_to(request, &account) {
                    state.free -= 1;
                    break;
                }
            }
            if !requests.is_empty() {
                state.waiting.push_back((account, requests));
            }
        }
    }

    /// Whether the request took the turn: its client may have left.
    fn hand_to(self: &Arc<Self>, request: oneshot::Sender<Turn>, account: &Arc<str>) -> bool {
        let taken =
            Taken { turns: Arc::clone(self), account: Arc::clone(account), since: Stopwatch::start() };
        // Dropped without being taken, a turn must not be given back.
        request.send(Turn(Some(taken))).map_err(|mut unsent| unsent.0.take()).is_ok()
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let Some(Taken { turns, account, since }) = self.0.take() else { return };
        let (took, mut state) = (since.elapsed(), turns.state());
        state.free += 1;
        if turns.rest > 0
            && took > LONG
            && let Ok(runtime) = Handle::try_current()
        {
            state.resting.push(Arc::clone(&account));
            let turns = Arc::clone(&turns);
            runtime.spawn(async move {
                clock::pause(took * turns.rest).await;
                let mut state = turns.state();
                if let Some(place) = state.resting.iter().position(|resting| *resting == account) {
                    state.resting.swap_remove(place);
                }
                turns.hand_out(state);
            });
        }
        turns.hand_out(state);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::Future,
        pin::{Pin, pin},
        sync::Arc,
        task::{Context, Poll, Waker},
        thread,
    };

    use super::{LONG, Turn, Turns};

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
        let turns = Turns::new(1, 0);
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
        let turns = Turns::new(1, 0);
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
        let turns = Turns::new(2, 0);
        let (first, second) = (take(&turns).await, take(&turns).await);
        let mut third = wait(&turns, "third");
        drop(second);
        let third = poll(&mut third).expect("a turn");
        let _fourth = wait(&turns, "fourth");
        drop((first, third));
    }

    #[tokio::test]
    async fn an_account_rests_after_a_long_turn_and_others_do_not_wait_for_it() {
        let turns = Turns::new(1, 2);
        let long = take(&turns).await;
        let (mut same, mut other) = (wait(&turns, "first"), wait(&turns, "other"));
        thread::sleep(LONG * 2);
        drop(long);
        assert!(poll(&mut same).is_none());
        drop(poll(&mut other).expect("another account's turn"));
        assert!(poll(&mut same).is_none());
        drop(same.await);
        // A short one is followed by the next at once.
        drop(take(&turns).await);
    }
}
