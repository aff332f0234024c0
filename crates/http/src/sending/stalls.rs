//! The wait for a client that accepts no bytes.

use std::sync::Arc;
use std::task::{Context as Task, Poll, ready};
use std::time::Duration;

use overnight_base::clock::{SharedClock, Sleep};

use crate::context::after;

/// Ends when there was no progress for its time. It looks once in this time, so progress costs nothing; hence it ends after one to two
/// times the time.
pub(super) struct StallTimer {
    clock: SharedClock,
    wait: Duration,
    look: Option<Look>,
}

struct Look {
    due: Sleep,
    /// The progress when the wait began.
    moved: u64,
}

impl StallTimer {
    pub(super) fn new(clock: &SharedClock, wait: Duration) -> Self {
        Self { clock: Arc::clone(clock), wait, look: None }
    }

    /// No bytes wait for the client.
    pub(super) fn rest(&mut self) {
        self.look = None;
    }

    /// Bytes wait for the client; `moved` is the progress so far.
    pub(super) fn poll(&mut self, task: &mut Task<'_>, moved: u64) -> Poll<()> {
        loop {
            let look = self.look.get_or_insert_with(|| {
                let due = self.clock.sleep_until(after(self.clock.now(), self.wait));
                Look { due, moved }
            });
            ready!(look.due.as_mut().poll(task));
            if look.moved == moved {
                return Poll::Ready(());
            }
            self.look = None;
        }
    }
}
