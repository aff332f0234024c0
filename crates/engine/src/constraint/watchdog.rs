//! Cancels a step that takes too long: the library bounds the number of its items and states, but not their cost.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use llguidance::CancellationHandle;

use super::limits::STEP_TIME_MAX;
use crate::clock::Stopwatch;

/// How often the time is compared.
const TICK: Duration = Duration::from_millis(50);

type Step = Option<(Stopwatch, CancellationHandle)>;

/// Watches the steps of one thread, as long as it or a clone exists.
#[derive(Clone, Debug)]
pub(super) struct Watchdog(Arc<Mutex<Step>>);

impl Watchdog {
    /// Fails if the system has no thread for it.
    pub(super) fn start() -> io::Result<Self> {
        let watched = Arc::new(Mutex::new(None));
        let watching = Arc::downgrade(&watched);
        let compare = move || {
            while let Some(watched) = watching.upgrade() {
                if let Some((since, handle)) = &*lock(&watched)
                    && since.elapsed() > STEP_TIME_MAX
                {
                    handle.cancel();
                }
                drop(watched);
                thread::sleep(TICK);
            }
        };
        thread::Builder::new().name("watch forms".to_owned()).spawn(compare)?;
        Ok(Self(watched))
    }

    /// Runs `step`, and cancels it by `handle` if it takes longer than a step may.
    pub(super) fn watch<T>(&self, handle: Option<CancellationHandle>, step: impl FnOnce() -> T) -> T {
        *lock(&self.0) = handle.map(|handle| (Stopwatch::start(), handle));
        let result = step();
        *lock(&self.0) = None;
        result
    }
}

fn lock(watched: &Mutex<Step>) -> MutexGuard<'_, Step> {
    watched.lock().unwrap_or_else(PoisonError::into_inner)
}
