//! Compares the machine's clock with the monotonic clock once a second, logs changes, and follows it.

use overnight_app::{Services, clock_checks};
use overnight_base::clock::{ClockChange, HOLD_MS};
use overnight_store::StoreError;

pub(super) const NAME: &str = "clock_follower";

const LOOK_MS: i64 = 1_000;

/// Runs until the store has stopped.
pub(super) async fn run(services: Services) {
    // The clock's movement that stored waits have not followed yet.
    let mut moved_ms: Option<i64> = None;
    loop {
        services.clock.sleep_until(services.clock.now() + LOOK_MS).await;
        if let Some(change) = services.clock.look() {
            log(change);
            if let ClockChange::Followed { by_ms } = change {
                moved_ms = Some(moved_ms.unwrap_or(0) + by_ms);
            }
        }
        let Some(by_ms) = moved_ms else { continue };
        match services.supervisor.item(NAME, NAME, clock_checks::follow(&services, by_ms)).await {
            Ok(Ok(())) => moved_ms = None,
            Ok(Err(StoreError::Stopped)) => return,
            Ok(Err(error)) => tracing::warn!(%error, "stored waits do not follow the clock yet; will retry"),
            // After a panic it is retried with the next change.
            Err(_) => moved_ms = None,
        }
    }
}

fn log(change: ClockChange) {
    match change {
        ClockChange::Jumped { machine_ms, monotonic_ms } => {
            metrics::counter!("overnight_clock_jumps_total").increment(1);
            tracing::warn!(
                machine_ms,
                monotonic_ms,
                "the machine's clock jumped or the machine slept; its time is followed in {} s if it stands",
                HOLD_MS / 1_000
            );
        }
        ClockChange::Returned => tracing::info!("the machine's clock is back; nothing has changed"),
        ClockChange::Followed { by_ms } => {
            tracing::warn!(by_ms, "the machine's clock kept its new time; the service follows it");
        }
    }
}
