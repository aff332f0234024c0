//! What a connection does at the moment, for those who look for one that may be closed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use overnight_base::clock::SharedClock;
use tokio::sync::Notify;

/// What a connection does at the moment.
pub(super) struct Activity {
    clock: SharedClock,
    state: Mutex<State>,
    leaving: Notify,
}

struct State {
    /// Calls under way with the key of an account.
    keyed: usize,
    /// Calls under way without one.
    keyless: usize,
    is_blocked: bool,
    /// Whether the last call that began or was answered had a key: what still waits to be written is of such a call.
    was_keyed: bool,
    /// When the first of the calls under way began or the last one ended, in milliseconds.
    since: i64,
    /// Whether it made room for another connection.
    is_leaving: bool,
}

/// What is lost if a connection is closed, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Loss {
    /// Nothing: it has no call and nothing to write.
    Nothing,
    /// Calls without the key of an account.
    KeylessCalls,
}

/// A call of a connection; over when it is dropped.
pub(super) struct OpenCall {
    activity: Arc<Activity>,
    is_keyed: bool,
}

impl Activity {
    /// A connection that was just opened.
    pub(super) fn new(clock: &SharedClock) -> Arc<Self> {
        let state = State {
            keyed: 0,
            keyless: 0,
            is_blocked: false,
            was_keyed: false,
            since: clock.now(),
            is_leaving: false,
        };
        Arc::new(Self { clock: Arc::clone(clock), state: Mutex::new(state), leaving: Notify::new() })
    }

    /// A call begins; `None` where the connection has made room for another.
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
        Some(OpenCall { activity: Arc::clone(self), is_keyed })
    }

    /// Whether the socket holds up what is to be written.
    pub(super) fn set_blocked(&self, is_blocked: bool) {
        self.state().is_blocked = is_blocked;
    }

    /// Since when the connection has had no call and nothing to write, in milliseconds; `None` where it has.
    pub(super) fn idle_since(&self) -> Option<i64> {
        self.state().if_closed().filter(|(loss, _)| *loss == Loss::Nothing).map(|(_, since)| since)
    }

    /// What is lost if the connection is closed, and since when that has been so, in milliseconds; `None` where the loss would be a
    /// call of an account.
    pub(super) fn if_closed(&self) -> Option<(Loss, i64)> {
        self.state().if_closed()
    }

    /// Has the connection make room if no more than `loss` is lost by it: no call begins on it afterwards. `false` where more would be
    /// lost by now.
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

    /// Ends once another connection needs the permit.
    pub(super) async fn asked_to_leave(&self) {
        self.leaving.notified().await;
    }

    /// Whether a call is under way.
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
    /// The call is answered, as one of an account or not: until then, whoever calls the API has a key.
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
