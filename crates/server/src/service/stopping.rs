//! The end of a service: its parts stop in the reverse order of their start.

use std::sync::Arc;

use overnight_app::Services;
use overnight_base::supervision::Supervisor;
use overnight_base::tasks;
use overnight_runtime::workers;
use overnight_store::{StoreError, nodes};
use tokio::task::JoinHandle;

use super::Service;

/// The longest wait for the store to release this node's leases at shutdown.
const RELEASE_TIMEOUT_MS: i64 = 5_000;

/// A service that has failed stops within this time.
const FAILED_STOP_MS: i64 = 8_000;

/// Lets loops end when it is dropped.
pub(super) struct Stopping(pub(super) Arc<Supervisor>);

impl Drop for Stopping {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl Service {
    pub(super) async fn stop_all(self) {
        let Services { clock, signals, supervisor, .. } = self.services.clone();
        signals.stop();
        supervisor.stop();
        let has_failed = supervisor.failure().is_some();
        let too_late = async {
            match has_failed {
                true => clock.sleep_until(clock.now() + FAILED_STOP_MS).await,
                false => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.stop_parts(has_failed) => {}
            () = too_late => tracing::warn!("a part of the failed service does not stop; it is left behind"),
        }
        supervisor.finish();
    }

    async fn stop_parts(mut self, has_failed: bool) {
        let clock = &self.services.clock;
        let _ = self.stop_scheduler.send(true);
        if !has_failed {
            clock.sleep_until(clock.now() + self.services.config().linger.0).await;
        }
        let _ = self.stop_http.send(true);
        let _ = self.http.await;
        let _ = self.scheduler.await;
        // They get no new work, and end concurrently with the rest, before another process can take the data folder.
        let engines = self.engines.take();
        let engines_stopped = tasks::spawn(async move {
            if let Some(engines) = &engines {
                engines.stop().await;
            }
        });
        let _ = self.stop_deliverer.send(true);
        finish(&mut self.deliverer, &self.services).await;
        self.workers.shutdown().await;
        let left = tokio::select! {
            left = release_node(&self.services) => left,
            () = clock.sleep_until(clock.now() + RELEASE_TIMEOUT_MS) => Err(StoreError::Stopped),
        };
        if let Err(error) = left {
            tracing::warn!(%error, "releasing leases at shutdown failed; they are free when they expire, or after the next start");
        }
        let _ = engines_stopped.await;
        // Everything that could be recorded was.
        let _ = self.stop_traces.send(true);
        if let Some(traces) = self.traces {
            let _ = traces.await;
        }
        self.services.store.close().await;
    }
}

/// Writes state that only this process knows, and releases its leases.
async fn release_node(services: &Services) -> Result<(), StoreError> {
    if let Err(error) = workers::key_usage_flusher(services).await {
        tracing::debug!(%error, "last key usage not stored");
    }
    nodes::leave(&services.store).await
}

/// Deliveries under way may take their time, but an unavailable store is not awaited much longer.
async fn finish(deliverer: &mut JoinHandle<()>, services: &Services) {
    let clock = &services.clock;
    tokio::select! {
        _ = &mut *deliverer => {}
        () = clock.sleep_until(clock.now() + services.drain_ms() + RELEASE_TIMEOUT_MS) => {
            deliverer.abort();
            tracing::warn!("store unavailable at shutdown; last webhook outcomes not stored, they are sent again");
        }
    }
}
