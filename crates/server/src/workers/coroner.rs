//! Gives back the leases of processes whose heart stopped.

use crate::app::Services;
use crate::store::{StoreError, owners};

/// Looks in a lease's time. A heart that stood still for all but one of them is taken for dead, so that what it held is
/// free within one lease, and two beats may be lost.
pub const LOOKS: i64 = 10;

/// One look for the dead.
pub async fn run_once(services: &Services, now: i64) -> Result<(), StoreError> {
    let lease_ms = services.config.lease.0;
    let voided = owners::void_stale(&services.store, now, lease_ms - lease_ms / LOOKS).await?;
    if voided > 0 {
        tracing::warn!(voided, "leases of a process that died went back to the queue");
    }
    Ok(())
}
