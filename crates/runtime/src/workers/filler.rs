//! Fills batches from their files: one task for each account that has any, so that accounts do not wait for each other.
//!
//! A batch of a file is filled gradually. A file is stored in pieces of whole lines (`store/files/`), each checked before the next is read.
//! A batch of it is one row with the count of its lines as `registered`, so its counters are right from the beginning and it cannot
//! complete early. `workers/filler.rs` makes requests of a piece in one write (`store/batches/filling.rs`), which also stores the next
//! piece and line, guarded by their old values: two nodes, or a crash between two writes, neither lose nor repeat a line. An account's
//! batches are filled one after the other, within its quotas; a write of a piece is intake like a create, so accounts take turns. A cancel
//! drops the lines that are not requests yet. Output and error files are written from the requests' records when they are read; nothing is
//! stored twice.

use std::collections::BTreeSet;

use overnight_app::Services;
use overnight_app::errors::AppError;
use overnight_app::file_batches::{FillPause, fill_account, list_filling};
use overnight_domain::scheduler::AccountKey;
use overnight_store::StoreError;
use tokio::task::JoinSet;

pub(super) const NAME: &str = "filler";

/// The interval between looks for batches without a notification, such as those of a dead node.
const LOOK_MS: i64 = 1_000;

/// How long an account waits after its filling panicked outside of a batch.
const PANICKED_MS: i64 = 60_000;

/// Runs until the store has stopped.
pub(super) async fn run(services: Services) {
    let mut running = BTreeSet::new();
    let mut tasks = JoinSet::new();
    loop {
        match list_filling(&services).await {
            Ok(accounts) => {
                for account in accounts {
                    if running.insert(account) {
                        tasks.spawn(Box::pin(fill(services.clone(), account)));
                    }
                }
            }
            Err(StoreError::Stopped) => return,
            Err(error) => tracing::warn!(%error, "batches to fill not listed; will retry"),
        }
        let look_at = services.clock.now() + LOOK_MS;
        tokio::select! {
            Some(ended) = tasks.join_next(), if !tasks.is_empty() => {
                ended.into_iter().for_each(|account| _ = running.remove(&account));
            }
            () = services.signals.fillers_rung() => {}
            () = services.clock.sleep_until(look_at) => {}
        }
    }
}

/// Fills an account's batches, and waits if it cannot continue.
async fn fill(services: Services, account: AccountKey) -> AccountKey {
    match services.supervisor.item(NAME, account.0, fill_account(&services, account)).await {
        Ok(Ok(FillPause::Idle)) => {}
        Ok(Ok(FillPause::Waits(wait_ms))) => {
            services.clock.sleep_until(services.clock.now() + wait_ms).await;
        }
        Ok(Err(AppError::Unavailable(_))) => services.clock.sleep_until(services.clock.now() + LOOK_MS).await,
        Ok(Err(error)) => {
            tracing::warn!(error = error.in_full(), "batch not filled; will retry");
            services.clock.sleep_until(services.clock.now() + LOOK_MS).await;
        }
        Err(_) => services.clock.sleep_until(services.clock.now() + PANICKED_MS).await,
    }
    account
}
