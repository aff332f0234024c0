//! Operations in progress (use cases, commands and duties), polled by hand, one at a time.
//!
//! An operation is driven until it has ended or its next write is in the writer's queue. Reads are awaited immediately, so every operation
//! in progress between two steps waits for a commit, and the order in the queue is the order of the steps.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use overnight_store::Store;
use tokio::sync::Notify;
use tokio::task::yield_now;
use tokio::time::timeout;

use super::outcomes::Outcome;

/// No read takes as long.
const STUCK: Duration = Duration::from_secs(120);

pub(super) type Operation = Pin<Box<dyn Future<Output = Outcome> + Send>>;

#[derive(Debug, Default)]
struct Bell {
    is_rung: AtomicBool,
    notify: Notify,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.is_rung.store(true, Ordering::Release);
        self.notify.notify_one();
    }
}

struct Running {
    operation: Operation,
    bell: Arc<Bell>,
    /// A separate task does some of its writes; it is polled only after that task has ended.
    is_carried: bool,
}

/// In the order in which they began.
pub(super) struct Pending {
    store: Store,
    running: Vec<Running>,
}

impl Pending {
    pub(super) const fn new(store: Store) -> Self {
        Self { store, running: Vec::new() }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Begins an operation. Returns its outcome unless it waits for the writer.
    pub(super) async fn begin(&mut self, is_carried: bool, operation: Operation) -> Option<Outcome> {
        let mut begun = Running { operation, bell: Arc::default(), is_carried };
        let outcome = begun.drive(&self.store).await;
        if outcome.is_none() {
            self.running.push(begun);
        }
        outcome
    }

    /// Polls operations whose commit was answered. Returns the outcomes of those that ended.
    pub(super) async fn go_on(&mut self) -> Vec<Outcome> {
        yield_now().await;
        let mut outcomes = Vec::new();
        let mut waiting = Vec::with_capacity(self.running.len());
        for mut running in std::mem::take(&mut self.running) {
            let is_answered = running.bell.is_rung.load(Ordering::Acquire);
            match if is_answered { running.drive(&self.store).await } else { None } {
                Some(outcome) => outcomes.push(outcome),
                None => waiting.push(running),
            }
        }
        self.running = waiting;
        outcomes
    }
}

impl Running {
    async fn drive(&mut self, store: &Store) -> Option<Outcome> {
        loop {
            self.bell.is_rung.store(false, Ordering::Release);
            let in_line = store.writes_waiting();
            let waker = Waker::from(Arc::clone(&self.bell));
            if let Poll::Ready(outcome) = self.operation.as_mut().poll(&mut Context::from_waker(&waker)) {
                return Some(outcome);
            }
            if self.is_carried {
                yield_now().await;
            }
            if store.writes_waiting() > in_line {
                return None;
            }
            while !self.bell.is_rung.load(Ordering::Acquire) {
                let rung = timeout(STUCK, self.bell.notify.notified()).await;
                assert!(rung.is_ok(), "an operation neither continues nor waits for a write");
            }
        }
    }
}
