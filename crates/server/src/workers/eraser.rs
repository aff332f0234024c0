//! Carries deletions through to the files of the data folder: the bytes of what was deleted are looked for after each minute in which
//! something was, and after each start.

use crate::app::Services;
use crate::clock::SharedClock;
use crate::store::Store;
use crate::store::StoreError;
use crate::store::erasure::{self, Deleted, Sweep};

/// The name of its loop.
pub(super) const NAME: &str = "eraser";

/// How often to look for deletions, in milliseconds.
const LOOK_MS: i64 = 60_000;

/// How often the emptying of the log is tried, and how long after each other, before it is left to the next look.
const TRIES: u32 = 10;
const TRY_MS: i64 = 500;

/// A step of a sweep is followed by a rest so many times as long, so that the service does not feel it.
const REST_TIMES: i64 = 20;

/// What has been carried through.
#[derive(Debug, Default)]
pub struct Eraser {
    erased: Option<Deleted>,
}

/// Looks again and again, until the store has stopped.
pub(super) async fn run(services: Services) {
    let mut eraser = Eraser::default();
    loop {
        let erasing = eraser.erase(&services.store, &services.clock);
        match services.supervisor.item(NAME, NAME, erasing).await {
            Ok(Ok(_)) | Err(_) => {}
            Ok(Err(StoreError::Stopped)) => return,
            Ok(Err(error)) => {
                tracing::warn!(%error, "deletions not carried through to the data folder; will retry");
            }
        }
        services.clock.sleep_until(services.clock.now() + LOOK_MS).await;
    }
}

impl Eraser {
    /// Carries through what was deleted before this was called; whether nothing of that is left in a file. Otherwise the next call tries
    /// again.
    ///
    /// # Errors
    /// Only what the store could not do.
    pub async fn erase(&mut self, store: &Store, clock: &SharedClock) -> Result<bool, StoreError> {
        let began = clock.now();
        let Some(deleted) = erasure::deleted(store).await? else { return Ok(true) };
        if self.erased != Some(deleted) {
            erasure::note_waiting(store);
            // Rows are gone with the log, and copies of them, which are few and whose finding takes longer, with the sweep.
            if !truncate_log(store, clock).await? {
                return Ok(false);
            }
            if sweep(store, clock).await? > 0 && !truncate_log(store, clock).await? {
                return Ok(false);
            }
            self.erased = Some(deleted);
        }
        erasure::note_erased(store, deleted, began);
        Ok(true)
    }
}

/// Overwrites what is left between the cells of pages; on how many.
async fn sweep(store: &Store, clock: &SharedClock) -> Result<usize, StoreError> {
    let Some(mut sweep) = Sweep::begin(store).await? else { return Ok(0) };
    let (mut cleared, mut began) = (0, clock.now());
    while let Some(pages) = sweep.step(store).await? {
        cleared += pages;
        let now = clock.now();
        if now > began {
            let rested = now + REST_TIMES * (now - began);
            clock.sleep_until(rested).await;
            began = rested;
        }
    }
    Ok(cleared)
}

/// Empties the log as soon as no reader needs it, or gives up for now.
async fn truncate_log(store: &Store, clock: &SharedClock) -> Result<bool, StoreError> {
    for _ in 0..TRIES {
        if erasure::truncate_log(store).await? {
            return Ok(true);
        }
        clock.sleep_until(clock.now() + TRY_MS).await;
    }
    tracing::info!("the write-ahead log is being read for long, and keeps what was deleted until then");
    Ok(false)
}
