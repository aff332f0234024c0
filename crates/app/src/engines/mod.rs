//! The configured engines, as the processes that drive them report them.

pub mod history;

use std::sync::Arc;

use overnight_store::nodes::engine_reports;

use super::errors::AppError;
use super::{ReadsFor, Services};
pub use overnight_store::nodes::engine_reports::{
    EnginePause, EngineProcess, EngineProcessStatus, EngineRates, EngineReport, EngineState, ModelOut, Out,
    PrefixCacheState, Why,
};

/// The last report of every live process for each engine replica, by replica name, at most a few seconds old. For operators only: the
/// reason of a pause may hold an engine's own words.
pub async fn list(services: &Services) -> Result<Vec<EngineReport>, AppError> {
    Ok(engine_reports::list(&services.store).await?)
}

/// The same, at least a second old, for frequent readers.
pub(super) async fn recent(services: &Services) -> Result<Arc<[EngineReport]>, AppError> {
    let store = services.store.clone();
    // The answer is for all accounts, so it does not wait for the turn of one.
    let list = ReadsFor::Service.scope(async move { Ok(engine_reports::list(&store).await?.into()) });
    services.live_counts.engines.get((), &services.clock, Box::pin(list)).await
}
