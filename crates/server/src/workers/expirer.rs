//! Fails what outlived its completion window.

use crate::app::{Services, failures};
use crate::store::{StoreError, expiry};

const CHUNK: u32 = 256;

/// Fails everything overdue, chunk by chunk, and tells the scheduler.
pub async fn run_once(services: &Services, now: i64) -> Result<(), StoreError> {
    if expiry::next_deadline(&services.store).await?.is_none_or(|deadline| deadline > now) {
        return Ok(());
    }
    loop {
        let ended = expiry::expire(&services.store, now, CHUNK, failures::expired_body()).await?;
        services.signals.ended(&ended);
        metrics::counter!("overnight_requests_expired_total").increment(ended.len() as u64);
        if ended.len() < CHUNK as usize {
            return Ok(());
        }
    }
}
