//! Finishes the cancels of batches that a crash left half-way.

use crate::app::{Services, batches};
use crate::store::StoreError;

/// Ends the live requests of every batch that is marked.
pub async fn run_once(services: &Services, now: i64) -> Result<(), StoreError> {
    batches::finish_cancels(services, now).await
}
