//! Where the model of a child is: a file of the settings, or one of the Hub, which may be on the way for hours.

use std::path::PathBuf;

use overnight_hub::{Hub, HubError, HubName, HubOptions, Progress};
use tokio::sync::watch;

use super::EmbeddedState;

/// After this time it is tried again where nothing has to be done by anybody,
const TRANSIENT_PAUSE_MS: i64 = 30_000;
/// and after this where a person has to do something: a token, another name, room on the disk.
const PERSON_PAUSE_MS: i64 = 600_000;

/// Where a model is.
pub(in crate::engines) enum ModelFile {
    At(PathBuf),
    /// In the cache of the Hub, or on the Hub.
    OfHub(HubName),
}

/// Why a model is not there, and when to look again.
pub(super) struct Missing {
    pub(super) reason: String,
    pub(super) pause_ms: i64,
}

/// The file of a model; downloads it if that is needed, and says how far that is.
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
