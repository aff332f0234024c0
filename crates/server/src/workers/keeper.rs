//! Keeps this process's leases.

use crate::app::Services;
use crate::store::{StoreError, owners};

/// One heartbeat.
pub async fn run_once(services: &Services, now: i64) -> Result<(), StoreError> {
    owners::beat(&services.store, now).await
}
