//! The activity of a connection, for the choice of one to close.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use futures_util::task::AtomicWaker;
use overnight_base::clock::SharedClock;
use tokio::sync::Notify;

pub(super) struct Activity {
    clock: SharedClock,
    state: Mutex<State>,
    leaving: Notify,
    /// Rises with each call and each part of a body.
    progress: AtomicU64,
    on_progress: AtomicWaker,
}

struct State {
    /// Calls under way with the key of an account.
    keyed: usize,
    /// Calls under way without one.
    keyless: usize,
    is_blocked: bool,
    /// Whether the last call that began or was answered had a key: unsent bytes belong to such a call.
    was_keyed: bool,
    /// When the first of the calls under way began or the last one ended, in milliseconds.
    since: i64,
    /// Whether it made room for another connection.
    is_leaving: bool,
}

/// The loss if a connection is closed, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Loss {
    /// It has no call and nothing to write.
    Nothing,
    /// Calls without the key of an account.
    KeylessCalls,
}

/// A call of a connection; it ends when this is dropped.
pub(super) struct OpenCall {
    activity: Arc<Activity>,
    is_keyed: bool,
}

impl Activity {
    /// The activity of a new connection.
    pub(super) fn new(clock: &SharedClock) -> Arc<Self> {
        let state = State {
            keyed: 0,
            keyless: 0,
            is_blocked: false,
            was_keyed: false,
            since: clock.now(),
            is_leaving: false,
        };
        Arc::new(Self {
            clock: Arc::clone(clock),
            state: Mutex::new(state),
            leaving: Notify::new(),
            progress: AtomicU64::new(0),
            on_progress: AtomicWaker::new(),
        })
    }

    /// Begins a call; `None` if the connection has made room for another.
    pub(super) fn begin(self: &Arc<Self>, is_keyed: bool) -> Option<OpenCall> {
        let mut state = self.state();
        if state.is_leaving {
            return None;
        }
        if state.calls() == 0 {
            state.since = self.clock.now();
        }
        *state.count(is_keyed) += 1;
        state.was_keyed = is_keyed;
        self.proceed();
        Some(OpenCall { activity: Arc::clone(self), is_keyed })
    }

    /// A call began, or a part of a body was read.
    pub(super) fn proceed(&self) {
        self.progress.fetch_add(1, Ordering::Relaxed);
        self.on_progress.wake();
    }

    /// Wakes the task of the connection once, at the next call or part of a body.
    pub(super) fn wake_on_progress(&self, waker: &Waker) {
        self.on_progress.register(waker);
    }

    /// Changes with each call and each part of a body.
    pub(super) fn progress(&self) -> u64 {
        self.progress.load(Ordering::Relaxed)
    }

    /// Whether the socket delays writes.
    pub(super) fn set_blocked(&self, is_blocked: bool) {
        self.state().is_blocked = is_blocked;
    }

    /// Since when the connection has had no call and nothing to write, in milliseconds; `None` if it has either.
    pub(super) fn idle_since(&self) -> Option<i64> {
        self.state().if_closed().filter(|(loss, _)| *loss == Loss::Nothing).map(|(_, since)| since)
    }

    /// The loss if the connection is closed, and since when it has been the same, in milliseconds; `None` if the loss would be a call of an
    /// account.
    pub(super) fn if_closed(&self) -> Option<(Loss, i64)> {
        self.state().if_closed()
    }

    /// Has the connection make room if that loses at most `loss`: then it begins no more calls. `false` if more would be lost by now.
    pub(super) fn make_room(&self, loss: Loss) -> bool {
        let mut state = self.state();
        state.is_leaving = state.if_closed().is_some_and(|(lost, _)| lost <= loss);
        if state.is_leaving {
            self.leaving.notify_one();
        }
        state.is_leaving
    }

    /// Another connection needs the permit, whatever is lost.
    pub(super) fn ask_to_leave(&self) {
        self.state().is_leaving = true;
        self.leaving.notify_one();
    }

    /// Returns once another connection needs the permit.
    pub(super) async fn asked_to_leave(&self) {
        self.leaving.notified().await;
    }

    pub(super) fn has_calls(&self) -> bool {
        self.state().calls() > 0
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn calls(&self) -> usize {
        self.keyed + self.keyless
    }

    fn count(&mut self, is_keyed: bool) -> &mut usize {
        if is_keyed { &mut self.keyed } else { &mut self.keyless }
    }

    fn if_closed(&self) -> Option<(Loss, i64)> {
        let loss = match (self.calls(), self.is_blocked) {
            (0, false) => Loss::Nothing,
            (0, true) if self.was_keyed => return None,
            _ if self.keyed > 0 => return None,
            _ => Loss::KeylessCalls,
        };
        Some((loss, self.since))
    }
}

impl OpenCall {
    /// The call is answered, with or without an account's key; until then it is assumed to have one.
    pub(super) fn answered(&mut self, is_keyed: bool) {
        let mut state = self.activity.state();
        *state.count(self.is_keyed) -= 1;
        *state.count(is_keyed) += 1;
        state.was_keyed = is_keyed;
        self.is_keyed = is_keyed;
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        let mut state = self.activity.state();
        *state.count(self.is_keyed) -= 1;
        if state.calls() == 0 {
            state.since = self.activity.clock.now();
        }
    }
}

#[cfg(test)]
mod tests {
    use overnight_base::clock::ManualClock;

    use super::*;

    fn open() -> Arc<Activity> {
        let clock: SharedClock = ManualClock::at(1);
        Activity::new(&clock)
    }

    #[test]
    fn what_made_room_begins_no_call_and_what_began_one_makes_no_room() {
        let (idle, busy) = (open(), open());
        assert!(idle.make_room(Loss::Nothing) && idle.begin(true).is_none());
        let call = busy.begin(true).expect("a call");
        assert!(!busy.make_room(Loss::KeylessCalls));
        drop(call);
        assert!(busy.make_room(Loss::Nothing));
    }

    #[test]
    fn a_call_of_the_api_is_one_without_a_key_once_it_is_refused() {
        let activity = open();
        let mut call = activity.begin(true).expect("a call");
        assert_eq!(activity.if_closed(), None);
        call.answered(false);
        assert_eq!(activity.if_closed(), Some((Loss::KeylessCalls, 1)));
        let keyed = activity.begin(true).expect("a call");
        assert!(!activity.make_room(Loss::KeylessCalls));
        drop(keyed);
        assert!(!activity.make_room(Loss::Nothing) && activity.make_room(Loss::KeylessCalls));
    }

    #[test]
    fn what_is_written_of_a_call_with_a_key_is_not_cut() {
        for (is_keyed, expected) in [(true, None), (false, Some((Loss::KeylessCalls, 1)))] {
            let activity = open();
            let mut call = activity.begin(true).expect("a call");
            call.answered(is_keyed);
            activity.set_blocked(true);
            drop(call);
            assert_eq!(activity.if_closed(), expected);
            activity.set_blocked(false);
            assert_eq!(activity.if_closed(), Some((Loss::Nothing, 1)));
        }
    }
}
