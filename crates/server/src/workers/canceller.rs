//! Finishes the cancels of batches that a crash left half-way.

use crate::app::Services;
use crate::store::{StoreError, batches};

/// Ends the live requests of every batch that is marked.
pub async fn run_once(services: &Services, now: i64) -> Result<(), StoreError> {
    for batch in batches::list_cancelling(&services.store).await? {
        finish(services, batch, now).await?;
    }
    Ok(())
}

/// Ends the live requests of one marked batch, chunk by chunk, and tells the scheduler.
pub async fn finish(services: &Services, batch: i64, now: i64) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let chunk = batches::cancel_chunk(&services.store, batch, after, now).await?;
        services.signals.ended(&chunk.ended);
        if chunk.next.is_none() {
            return Ok(());
        }
        after = chunk.next;
    }
}
