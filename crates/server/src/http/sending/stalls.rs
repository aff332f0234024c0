//! The wait for a client that takes nothing.

use std::sync::Arc;
use std::task::{Context as Task, Poll, ready};
use std::time::Duration;

use overnight_base::clock::{SharedClock, Sleep};

use crate::http::context::after;

/// Ends when nothing has moved for its time. It looks once in this time, so that what moves costs nothing; hence it ends after
/// twice the time at the latest.
pub(super) struct StallTimer {
    clock: SharedClock,
    wait: Duration,
    look: Option<Look>,
}

struct Look {
    due: Sleep,
    /// What had moved when the wait began.
    moved: u64,
}

impl StallTimer {
    pub(super) fn new(clock: &SharedClock, wait: Duration) -> Self {
        Self { clock: Arc::clone(clock), wait, look: None }
    }

    /// Nothing waits for the client.
    pub(super) fn rest(&mut self) {
        self.look = None;
    }

    /// Something waits for the client, and so much has `moved` since the beginning.
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
