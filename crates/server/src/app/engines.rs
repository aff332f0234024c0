//! The engines that serve, as the processes that have them in their settings see them.

use super::Services;
use super::errors::AppError;
use crate::store::nodes::engine_reports;
pub use crate::store::nodes::engine_reports::{EnginePause, EngineRates, EngineReport, EngineState};

/// What every process that lives said last of each of its engine replicas, by the names of the replicas: a few seconds old
/// at most where there is news. It is for operators: the reason of a pause may hold an engine's own words.
///
/// # Errors
///
/// Only what the store could not do.
pub async fn list(services: &Services) -> Result<Vec<EngineReport>, AppError> {
    Ok(engine_reports::list(&services.store).await?)
}
