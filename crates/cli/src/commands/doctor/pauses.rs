//! Engines that the running service has paused, also if they were not called here.

use overnight_config::{Config, Database};
use overnight_store::FolderLock;
use overnight_store::nodes::engine_reports::{self, EngineReport};

use super::{Finding, open_database};

/// Empty without a running service.
pub(super) async fn check(config: &Config) -> Vec<Finding> {
    // The last state of a killed process remains until the next start.
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
