//! Adds what engines with a daily budget were sent to the store, beside the scheduling.

use overnight_domain::scheduler::{DailyUse, SchedulerCommand, SchedulerInput};

use crate::store::nodes::engine_days::{self, EngineDay};
use crate::store::{Store, StoreError};

/// Adds to the day of the engine with this name; what the scheduler is to be told, if the store has not stopped.
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
