//! Adds the use of engines with a daily budget to the store, concurrently with scheduling.

use overnight_domain::scheduler::{DailyUse, SchedulerCommand, SchedulerInput};
use overnight_store::nodes::engine_days::{self, EngineDay};
use overnight_store::{Store, StoreError};

/// Adds to the engine's day; returns the scheduler's input, unless the store has stopped.
pub(super) async fn count(store: &Store, name: String, used: DailyUse) -> Option<SchedulerInput> {
    let DailyUse { day, requests, tokens, .. } = used;
    match engine_days::add(store, EngineDay { name, day, requests, tokens }).await {
        Ok(EngineDay { requests, tokens, .. }) => {
            Some(SchedulerInput::Used(DailyUse { requests, tokens, ..used }))
        }
        Err(StoreError::Stopped) => None,
        Err(error) => {
            tracing::warn!(%error, "use of an engine's daily budget not stored; will retry");
            Some(SchedulerInput::Undone(SchedulerCommand::CountUse(used)))
        }
    }
}
