//! The child's model: a file in the settings, or on the Hub, which may take hours to download.

use std::path::PathBuf;

use overnight_hub::{Hub, HubError, HubName, HubOptions, Progress};
use tokio::sync::watch;

use super::EmbeddedState;

/// The pause before a retry of a temporary failure,
const TRANSIENT_PAUSE_MS: i64 = 30_000;
/// and of one that needs a person: a token, another name, disk space.
const PERSON_PAUSE_MS: i64 = 600_000;

pub(crate) enum ModelFile {
    At(PathBuf),
    /// In the Hub's cache, or on the Hub.
    OfHub(HubName),
}

/// Why a model is missing, and when to look again.
pub(super) struct Missing {
    pub(super) reason: String,
    pub(super) pause_ms: i64,
}

/// The file of a model; downloads it if necessary, and reports the progress.
pub(super) async fn locate(
    model: &ModelFile,
    engine: &str,
    state: &watch::Sender<EmbeddedState>,
) -> Result<PathBuf, Missing> {
    match model {
        ModelFile::At(path) => Ok(path.clone()),
        ModelFile::OfHub(name) => download(name, engine, state).await.map_err(|error| {
            let pause_ms = if error.is_transient() { TRANSIENT_PAUSE_MS } else { PERSON_PAUSE_MS };
            Missing { reason: error.to_string(), pause_ms }
        }),
    }
}

async fn download(
    name: &HubName,
    engine: &str,
    state: &watch::Sender<EmbeddedState>,
) -> Result<PathBuf, HubError> {
    let hub = Hub::new(HubOptions::from_environment());
    if let Some(path) = hub.find(name) {
        return Ok(path);
    }
    tracing::info!(target: "engine", engine, "downloading the model {name} into {}", hub.options().folder.display());
    state.send_replace(EmbeddedState::Downloading { name: name.clone() });
    let mut said = 0;
    let mut on_progress = |Progress { done, total }: Progress| {
        let percent = done.saturating_mul(100) / total.max(1);
        if percent / 10 > said {
            said = percent / 10;
            tracing::info!(target: "engine", engine, percent, "downloading the model {name}");
        }
    };
    let found = hub.fetch(name, &mut on_progress).await?;
    state.send_replace(EmbeddedState::Starting);
    Ok(found.path)
}
