//! A test's orders, and the losses so far.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Dropped;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Passes,
    /// Only the server gets it; its answer is dropped.
    LosesItsAnswer,
    IsCut,
}

#[derive(Debug, Default)]
pub(super) struct Orders {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    answers_to_drop: u64,
    commits_to_cut: u64,
    dropped: Dropped,
}

impl Orders {
    pub(super) fn drop_answers(&self, count: u64) {
        self.state().answers_to_drop = count;
    }

    pub(super) fn cut_commits(&self, count: u64) {
        self.state().commits_to_cut = count;
    }

    /// Decides about the next commit. Each order is carried out once.
    pub(super) fn fate_of_commit(&self) -> Fate {
        let mut state = self.state();
        if state.commits_to_cut > 0 {
            state.commits_to_cut -= 1;
            Fate::IsCut
        } else if state.answers_to_drop > 0 {
            state.answers_to_drop -= 1;
            Fate::LosesItsAnswer
        } else {
            Fate::Passes
        }
    }

    pub(super) fn count(&self, fate: Fate) {
        let dropped = &mut self.state().dropped;
        match fate {
            Fate::Passes => {}
            Fate::LosesItsAnswer => dropped.answers += 1,
            Fate::IsCut => dropped.commits += 1,
        }
    }

    pub(super) fn dropped(&self) -> Dropped {
        self.state().dropped
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
