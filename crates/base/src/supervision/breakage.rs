//! Breaks loops by name. Only tests compile it, so no program contains it.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::lazy;
use tokio::sync::watch;

use super::Supervisor;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breakage {
    End,
    Panic,
}

/// The loop to break, and the loop whose items to break.
#[derive(Default)]
pub(super) struct Breakages {
    a_loop: watch::Sender<Option<(&'static str, Breakage)>>,
    items: Mutex<Option<&'static str>>,
}

impl Breakages {
    fn of(&self, name: &str) -> Option<Breakage> {
        self.a_loop.borrow().filter(|(broken, _)| *broken == name).map(|(_, breakage)| breakage)
    }

    /// `work`, which panics first if the items of this loop are broken.
    pub(super) fn breakable_item<W: Future>(
        &self,
        name: &'static str,
        work: W,
    ) -> impl Future<Output = W::Output> {
        lazy(move |_| self.break_item(name)).then(move |()| work)
    }

    pub(super) fn break_item(&self, name: &str) {
        let broken = *self.items.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(broken != Some(name), "the test breaks the items of `{name}`");
    }
}

impl Supervisor {
    pub fn break_loop(&self, name: &'static str, breakage: Breakage) {
        self.breakage.a_loop.send_replace(Some((name, breakage)));
    }

    /// From now on the work on items of this loop panics, and of no other.
    pub fn break_items(&self, name: Option<&'static str>) {
        *self.breakage.items.lock().unwrap_or_else(PoisonError::into_inner) = name;
    }

    /// The next message of a loop on a thread; `None` if every sender is gone or the test ends the loop.
    pub(super) fn next_message<M>(&self, name: &'static str, messages: &Receiver<M>) -> Option<M> {
        loop {
            match self.breakage.of(name) {
                Some(Breakage::End) => return None,
                Some(Breakage::Panic) => panic!("the test breaks `{name}`"),
                None => {}
            }
            match messages.recv_timeout(Duration::from_millis(50)) {
                Ok(message) => return Some(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }
}

pub(super) async fn breakable(
    supervisor: Arc<Supervisor>,
    name: &'static str,
    work: impl Future<Output = ()>,
) {
    let mut breakages = supervisor.breakage.a_loop.subscribe();
    let broken = async {
        _ = breakages.wait_for(|broken| broken.is_some_and(|(broken, _)| broken == name)).await;
    };
    tokio::select! {
        biased;
        () = broken => {}
        () = work => return,
    }
    if supervisor.breakage.of(name) == Some(Breakage::Panic) {
        panic!("the test breaks `{name}`");
    }
}
