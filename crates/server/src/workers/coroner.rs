//! Gives back the leases of processes whose heart stopped.

use crate::app::Services;
use crate::store::{StoreError, owners};

/// One look for the dead.
pub async fn run_once(services: &Services, now: i64) -> Result<(), StoreError> {
    let voided = owners::void_stale(&services.store, now, services.config.lease.0).await?;
    if voided > 0 {
        tracing::warn!(voided, "leases of a process that died went back to the queue");
    }
    Ok(())
}
