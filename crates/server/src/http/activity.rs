//! What a connection does at the moment, for those who look for one that may be closed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};

use tokio::sync::Notify;

use crate::clock::SharedClock;

/// What a connection does at the moment.
pub(super) struct Activity {
    clock: SharedClock,
    calls: AtomicUsize,
    is_blocked: AtomicBool,
    idle_since: AtomicI64,
    leaving: Notify,
}

/// A call of a connection; over when it is dropped.
pub(super) struct OpenCall(Arc<Activity>);

impl Activity {
    /// A connection that was just opened.
    pub(super) fn new(clock: &SharedClock) -> Arc<Self> {
        Arc::new(Self {
            clock: Arc::clone(clock),
            calls: AtomicUsize::new(0),
            is_blocked: AtomicBool::new(false),
            idle_since: AtomicI64::new(clock.now()),
            leaving: Notify::new(),
        })
    }

    /// A call begins.
    pub(super) fn begin(self: &Arc<Self>) -> OpenCall {
        self.calls.fetch_add(1, Ordering::AcqRel);
        OpenCall(Arc::clone(self))
    }

    /// Whether the socket holds up what is to be written.
    pub(super) fn set_blocked(&self, is_blocked: bool) {
        self.is_blocked.store(is_blocked, Ordering::Release);
    }

    /// Since when the connection has had no call and nothing to write, in milliseconds; `None` where it has.
    pub(super) fn idle_since(&self) -> Option<i64> {
        let is_busy = self.calls.load(Ordering::Acquire) > 0 || self.is_blocked.load(Ordering::Acquire);
        (!is_busy).then(|| self.idle_since.load(Ordering::Acquire))
    }

    /// Another connection needs the permit.
    pub(super) fn ask_to_leave(&self) {
        self.leaving.notify_one();
    }

    /// Ends once another connection needs the permit.
    pub(super) async fn asked_to_leave(&self) {
        self.leaving.notified().await;
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        let Self(activity) = self;
        activity.idle_since.store(activity.clock.now(), Ordering::Release);
        activity.calls.fetch_sub(1, Ordering::AcqRel);
    }
}
