//! Stores completions: one write takes all that came while the one before was made durable.

use std::sync::Arc;

use tokio::sync::mpsc::UnboundedReceiver;

use super::commands;
use crate::app::Services;
use crate::app::write_retry::write_with_retry;
use crate::store::queue::settle::{self, Settlement};

const AT_ONCE: usize = 256;

/// Settles until everyone who could send has left: the work is done, and must be lost neither to an abort nor to a
/// store that is away for a moment.
pub(super) async fn run(services: Services, mut completions: UnboundedReceiver<Settlement>) {
    let mut settlements = Vec::new();
    while completions.recv_many(&mut settlements, AT_ONCE).await > 0 {
        store(&services, settlements.drain(..).collect()).await;
    }
}

async fn store(services: &Services, settlements: Arc<[Settlement]>) {
    let settle = |settlements| settle::settle_all(&services.store, settlements);
    let held = write_with_retry(&services.clock, "results", Arc::clone(&settlements), settle).await;
    let settled = held.iter().filter(|held| **held == Some(true)).count();
    metrics::counter!("overnight_requests_completed_total").increment(settled as u64);
    for (settlement, held) in settlements.iter().zip(held) {
        match held {
            Some(held) => commands::count_fenced_write(held),
            None => {
                let seq = settlement.lease.key.position.seq;
                tracing::error!(seq, "result not stored; its request runs again or expires");
            }
        }
    }
}
