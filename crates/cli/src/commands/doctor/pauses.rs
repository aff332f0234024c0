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
    reports.unwrap_or_default().iter().flat_map(judge).collect()
}

fn judge(EngineReport { node, engine, .. }: &EngineReport) -> Vec<Finding> {
    let warn = |what: String| {
        let hint =
            "where it stays so, see the log of the service, and the engine's own; requests wait meanwhile";
        Finding::warn(
            format!("engine {}", engine.name),
            format!("the service ({node}) has paused {what}"),
            hint,
        )
    };
    match &engine.pause {
        _ if !engine.is_driven => Vec::new(),
        Some(pause) => vec![warn(format!("it: {}", pause.reason))],
        None => {
            let paused = engine.models_out.iter().filter(|out| !out.is_busy);
            let paused = paused.filter_map(|out| Some((&out.model, out.reason.as_ref()?)));
            paused.map(|(model, reason)| warn(format!("its model {model}: {reason}"))).collect()
        }
    }
}
