//! The engines that serve, as the processes that have them in their settings see them.

use std::sync::Arc;

use super::errors::AppError;
use super::{ReadsFor, Services};
use crate::store::nodes::engine_reports;
pub use crate::store::nodes::engine_reports::{
    EnginePause, EngineProcess, EngineProcessStatus, EngineRates, EngineReport, EngineState, ModelOut, Out,
    PrefixCacheState, Why,
};

/// What every process that lives said last of each of its engine replicas, by the names of the replicas: a few seconds old
/// at most where there is news. It is for operators: the reason of a pause may hold an engine's own words.
pub async fn list(services: &Services) -> Result<Vec<EngineReport>, AppError> {
    Ok(engine_reports::list(&services.store).await?)
}

/// The same, a second old or more: for what many ask for.
pub(super) async fn recent(services: &Services) -> Result<Arc<[EngineReport]>, AppError> {
    let store = services.store.clone();
    // For all accounts, so it does not wait for the turn of the one that asks.
    let list = ReadsFor::Service.scope(async move { Ok(engine_reports::list(&store).await?.into()) });
    services.live_counts.engines.get((), &services.clock, Box::pin(list)).await
}
