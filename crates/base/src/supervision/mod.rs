//! The supervisor of the process. It owns every long-lived loop: the end or the panic of one makes the process not ready and ends it. A
//! panic while a loop handles one item costs only that item.

#[cfg(any(test, feature = "breakage"))]
mod breakage;
mod panics;
mod pulse;
mod watchdog;

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use thiserror::Error;
use tokio::sync::watch;
use tokio::task::JoinHandle;

#[cfg(any(test, feature = "breakage"))]
pub use self::breakage::Breakage;
pub use self::panics::Panic;
use self::panics::Panics;
pub use self::pulse::Pulse;
use self::pulse::Watched;
use crate::tasks;

/// The exit code after the failure of a loop: `EX_SOFTWARE` of `sysexits.h`.
pub const EXIT_SOFTWARE: u8 = 70;

/// The exit code after a failure of files or their disk: `EX_IOERR` of `sysexits.h`.
pub const EXIT_IO_ERROR: u8 = 74;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.in_words())]
pub struct Failure {
    pub name: &'static str,
    pub fault: Fault,
}

impl Failure {
    pub const fn exit_code(&self) -> u8 {
        if self.is_of_files() { EXIT_IO_ERROR } else { EXIT_SOFTWARE }
    }

    /// Whether a file of the store is missing.
    pub const fn is_of_files(&self) -> bool {
        matches!(self.fault, Fault::FilesGone(_))
    }

    fn in_words(&self) -> String {
        match &self.fault {
            Fault::FilesGone(why) => why.clone(),
            fault => format!("the loop `{}` {fault}", self.name),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Fault {
    /// It returned while the service runs.
    #[error("ended")]
    Ended,
    /// It panicked outside of any item.
    #[error("panicked at {0}")]
    Panicked(Panic),
    /// Different items of it panicked at one place in the code within a minute.
    #[error("panicked at {0} for several items")]
    PanickedOften(Panic),
    /// It has not turned for this many seconds.
    #[error("has made no progress for {0} s")]
    Stalled(u32),
    /// The system refused the thread it needs.
    #[error("could not be started: {0}")]
    NotStarted(String),
    #[error("found that {0}")]
    FilesGone(String),
}

pub struct Supervisor {
    failure: watch::Sender<Option<Failure>>,
    is_stopping: AtomicBool,
    is_over: AtomicBool,
    loops: Mutex<BTreeMap<&'static str, Watched>>,
    panics: Panics,
    #[cfg(any(test, feature = "breakage"))]
    breakage: breakage::Breakages,
}

impl Default for Supervisor {
    fn default() -> Self {
        panics::note_locations();
        Self {
            failure: watch::Sender::new(None),
            is_stopping: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            loops: Mutex::default(),
            panics: Panics::default(),
            #[cfg(any(test, feature = "breakage"))]
            breakage: breakage::Breakages::default(),
        }
    }
}

impl Supervisor {
    pub fn spawn(
        self: &Arc<Self>,
        name: &'static str,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> JoinHandle<()> {
        tasks::spawn(self.watch(name, work))
    }

    /// A loop that runs until the service stops. If it returns earlier or panics, the process ends.
    pub fn watch<W>(self: &Arc<Self>, name: &'static str, work: W) -> BoxFuture<'static, ()>
    where
        W: Future<Output = ()> + Send + 'static,
    {
        self.watch_until(name, work, || false).boxed()
    }

    /// A loop that may also return once `is_over`.
    pub fn watch_until<W, E>(
        self: &Arc<Self>,
        name: &'static str,
        work: W,
        is_over: E,
    ) -> impl Future<Output = ()> + use<W, E>
    where
        W: Future<Output = ()>,
        E: Fn() -> bool,
    {
        self.register(name);
        let supervisor = Arc::clone(self);
        #[cfg(any(test, feature = "breakage"))]
        let work = breakage::breakable(Arc::clone(self), name, work);
        async move {
            match panics::caught(work).await {
                Ok(()) if is_over() || supervisor.is_stopping() => {}
                Ok(()) => supervisor.fail(name, Fault::Ended),
                Err(panic) => supervisor.panicked(name, panic),
            }
        }
    }

    /// A loop on this thread that handles messages until every sender is gone.
    pub fn serve_messages<M>(&self, name: &'static str, messages: &Receiver<M>, mut handle: impl FnMut(M)) {
        self.register(name);
        let served = catch_unwind(AssertUnwindSafe(|| {
            while let Some(message) = self.next_message(name, messages) {
                handle(message);
            }
        }));
        match served {
            Ok(()) if matches!(messages.try_recv(), Err(TryRecvError::Disconnected)) => {}
            Ok(()) => self.fail(name, Fault::Ended),
            Err(_) => self.panicked(name, panics::last()),
        }
    }

    #[cfg(not(any(test, feature = "breakage")))]
    fn next_message<M>(&self, _: &'static str, messages: &Receiver<M>) -> Option<M> {
        messages.recv().ok()
    }

    /// Carries out the work on one item of a loop. A panic is logged with the item and counted; the caller must then set the item aside.
    /// Several items that panic at one place within a minute end the process: a restart may repair what they share.
    ///
    /// The future holds `work` once, so that it grows no larger than that.
    pub fn item<T>(
        &self,
        name: &'static str,
        item: impl Display,
        work: impl Future<Output = T>,
    ) -> impl Future<Output = Result<T, Panic>> {
        #[cfg(any(test, feature = "breakage"))]
        let work = self.breakage.breakable_item(name, work);
        panics::caught(work)
            .map(move |worked| worked.inspect_err(|panic| self.item_panicked(name, &item, panic)))
    }

    /// As [`Self::item`], for requests of clients. They can repeat panics at many places, so these never end the process.
    pub fn call<T>(
        &self,
        name: &'static str,
        item: impl Display,
        work: impl Future<Output = T>,
    ) -> impl Future<Output = Result<T, Panic>> {
        #[cfg(any(test, feature = "breakage"))]
        let work = self.breakage.breakable_item(name, work);
        panics::caught(work).map(move |worked| worked.inspect_err(|panic| panics::report(name, &item, panic)))
    }

    /// As [`Self::item`], for work on this thread.
    pub fn item_now<T>(
        &self,
        name: &'static str,
        item: impl Display,
        work: impl FnOnce() -> T,
    ) -> Result<T, Panic> {
        let work = || {
            #[cfg(any(test, feature = "breakage"))]
            self.breakage.break_item(name);
            work()
        };
        let worked = catch_unwind(AssertUnwindSafe(work)).map_err(|_| panics::last());
        worked.inspect_err(|panic| self.item_panicked(name, &item, panic))
    }

    fn item_panicked(&self, name: &'static str, item: &dyn Display, panic: &Panic) {
        panics::report(name, item, panic);
        if self.panics.is_of_many_items(panic, item.to_string()) {
            self.fail(name, Fault::PanickedOften(panic.clone()));
        }
    }

    /// The heartbeat, for the watchdog, of a loop that turns at least every few seconds. A loop that may wait for another machine without
    /// limit does not end the process.
    pub fn pulse(&self, name: &'static str, waits_for_others: bool) -> Arc<Pulse> {
        let pulse = Arc::new(Pulse::new(waits_for_others));
        self.loops().entry(name).or_default().pulse = Some(Arc::clone(&pulse));
        pulse
    }

    /// A loop could not be started. The process ends.
    pub fn not_started(&self, name: &'static str, why: &dyn Display) {
        self.fail(name, Fault::NotStarted(why.to_string()));
    }

    /// A file of the store is missing: further writes to it are lost. The process ends.
    pub fn files_gone(&self, name: &'static str, why: String) {
        self.fail(name, Fault::FilesGone(why));
    }

    fn panicked(&self, name: &'static str, panic: Panic) {
        panics::count(name);
        self.fail(name, Fault::Panicked(panic));
    }

    /// Ends the process. The first reason counts.
    fn fail(&self, name: &'static str, fault: Fault) {
        let failure = Failure { name, fault };
        let is_first = self.failure.send_if_modified(|known| {
            let is_first = known.is_none();
            known.get_or_insert_with(|| failure.clone());
            is_first
        });
        if is_first {
            tracing::error!(part = name, "{failure}; the process ends");
        }
    }

    /// Why the process ends, if it does.
    pub fn failure(&self) -> Option<Failure> {
        self.failure.borrow().clone()
    }

    /// Returns when a loop's failure ends the process.
    pub async fn failed(&self) -> Failure {
        let mut failure = self.failure.subscribe();
        loop {
            if let Some(failure) = &*failure.borrow_and_update() {
                return failure.clone();
            }
            // The sender lives as long as this borrow.
            _ = failure.changed().await;
        }
    }

    /// Why the process is not ready: a loop failed or stalls.
    pub fn trouble(&self) -> Option<Failure> {
        let stalled = || self.loops().iter().find_map(|(name, watched)| watched.trouble(name));
        self.failure().or_else(stalled)
    }

    pub fn stop(&self) {
        self.is_stopping.store(true, Ordering::Release);
    }

    pub fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    /// The service has stopped. The watchdog ends.
    pub fn finish(&self) {
        self.is_over.store(true, Ordering::Release);
    }

    pub fn names(&self) -> Vec<&'static str> {
        self.loops().keys().copied().collect()
    }

    fn register(&self, name: &'static str) {
        self.loops().entry(name).or_default();
        panics::begin_counter(name);
    }

    fn loops(&self) -> MutexGuard<'_, BTreeMap<&'static str, Watched>> {
        self.loops.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Supervisor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Supervisor").field("failure", &self.failure()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
