//! Fails what outlived its completion window.

use crate::app::{Services, failures};
use crate::store::{StoreError, expiry};

const CHUNK: u32 = 256;

/// Fails everything overdue, chunk by chunk, and tells the scheduler.
pub async fn run_once(services: &Services, now: i64) -> Result<(), StoreError> {
    while expiry::is_overdue(&services.store, now).await? {
        let ended = expiry::expire(&services.store, now, CHUNK, failures::expired_body()).await?;
        services.signals.ended(&ended);
        metrics::counter!("overnight_requests_expired_total").increment(ended.len() as u64);
    }
    Ok(())
}
