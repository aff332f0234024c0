//! Which engines the service sends nothing, as it says itself: also those that are looked for here and not asked.

use overnight_server::config::{Config, Database};
use overnight_server::store::FolderLock;
use overnight_server::store::nodes::engine_reports::{self, EngineReport};

use super::{Finding, open_database};

/// Nothing where no service runs, and for engines that get their work.
pub(super) async fn check(config: &Config) -> Vec<Finding> {
    // What a process said last that was killed stays until the next start.
    if config.database == Database::Sqlite && FolderLock::holder(&config.data_dir).is_none() {
        return Vec::new();
    }
    let Some(store) = open_database(config).await else { return Vec::new() };
    let reports = engine_reports::list(&store).await;
    store.close().await;
    reports.unwrap_or_default().iter().filter_map(judge).collect()
}

fn judge(EngineReport { node, engine, .. }: &EngineReport) -> Option<Finding> {
    let of_all = engine.pause.iter().map(|pause| pause.reason.as_str());
    let mut reasons = of_all.chain(engine.models_out.iter().filter_map(|out| out.reason.as_deref()));
    let message = format!("the service ({node}) has paused it: {}", reasons.next()?);
    let hint = "where it stays so, see the log of the service, and the engine's own; requests wait meanwhile";
    Some(Finding::warn(format!("engine {}", engine.name), message, hint))
}
