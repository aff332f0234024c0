//! Cancels a step that takes too long: the library bounds the number of its items and states, but not their cost.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use llguidance::CancellationHandle;

use crate::clock::Stopwatch;

/// How often the time is compared.
const TICK: Duration = Duration::from_millis(20);

type Step = Option<(Stopwatch, CancellationHandle)>;

/// Watches the steps of one thread, as long as it or a clone exists.
#[derive(Clone, Debug)]
pub(super) struct Watchdog {
    step: Arc<Mutex<Step>>,
    time_max: Duration,
}

impl Watchdog {
    /// A step may take `time_max`. Fails if the system has no thread for it.
    pub(super) fn start(time_max: Duration) -> io::Result<Self> {
        let step = Arc::new(Mutex::new(None));
        let watching = Arc::downgrade(&step);
        let compare = move || {
            while let Some(watched) = watching.upgrade() {
                if let Some((since, handle)) = &*lock(&watched)
                    && since.elapsed() > time_max
                {
                    handle.cancel();
                }
                drop(watched);
                thread::sleep(TICK);
            }
        };
        thread::Builder::new().name("watch forms".to_owned()).spawn(compare)?;
        Ok(Self { step, time_max })
    }

    /// Runs `step`, and cancels it by `handle` if it takes longer than a step may.
    pub(super) fn watch<T>(&self, handle: Option<CancellationHandle>, step: impl FnOnce() -> T) -> T {
        *lock(&self.step) = handle.map(|handle| (Stopwatch::start(), handle));
        let result = step();
        *lock(&self.step) = None;
        result
    }

    /// The limit that a cancelled step was over, as a clause.
    pub(super) fn limit(&self) -> String {
        let limit = self.time_max.as_millis();
        format!("finding the tokens that it allows at one place takes more than {limit} ms")
    }
}

fn lock(watched: &Mutex<Step>) -> MutexGuard<'_, Step> {
    watched.lock().unwrap_or_else(PoisonError::into_inner)
}
