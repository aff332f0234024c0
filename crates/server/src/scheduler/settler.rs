//! Stores completions: one write takes all that came while the one before was made durable.

use std::sync::Arc;

use tokio::sync::mpsc::UnboundedReceiver;

use super::actions;
use crate::app::Services;
use crate::store::StoreError;
use crate::store::settle::{self, Settlement};

const RETRY_MS: i64 = 1_000;
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
    loop {
        match settle::settle_all(&services.store, Arc::clone(&settlements)).await {
            Ok(held) => {
                let settled = held.iter().filter(|is_held| **is_held).count();
                metrics::counter!("overnight_requests_completed_total").increment(settled as u64);
                held.into_iter().for_each(actions::note_if_zombie);
                return;
            }
            Err(StoreError::Stopped) => return,
            Err(StoreError::Refused(error)) => return store_each_alone(services, &settlements, &error).await,
            Err(error) => tracing::warn!(%error, "results wait for the store"),
        }
        services.clock.sleep_until(services.clock.now() + RETRY_MS).await;
    }
}

/// One of them is at fault, and the others must not wait behind it: it is given up, and its request ends at its deadline.
async fn store_each_alone(services: &Services, settlements: &[Settlement], error: &str) {
    if let [settlement] = settlements {
        let seq = settlement.lease.key.position.seq;
        tracing::error!(error, seq, "a result cannot be stored, and its request will expire");
        return;
    }
    for settlement in settlements {
        Box::pin(store(services, [settlement.clone()].into())).await;
    }
}
