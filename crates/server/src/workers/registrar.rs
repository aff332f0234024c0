//! Writes down when keys were used.

use crate::app::{Services, api_keys};
use crate::store::StoreError;

/// Stores what is news of it.
pub async fn run_once(services: &Services, _now: i64) -> Result<(), StoreError> {
    api_keys::store_uses(services).await
}
