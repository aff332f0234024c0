//! The settings file that a service loaded, and the outcome of its last reload.

use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::errors::CliError;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SettingsFile {
    /// `None` if there is none.
    path: Option<PathBuf>,
    /// The digest of its bytes; `None` if it could not be read.
    sha256: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LoadedSettings {
    pub(crate) file: SettingsFile,
    /// The number of reloads, including failed ones.
    pub(crate) reloads: u64,
    pub(crate) last: Option<ReloadOutcome>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReloadOutcome {
    /// The settings are in effect, except those that need a restart.
    Loaded {
        changed: Vec<String>,
        /// Settings that differ in the file, but need a restart.
        needs_restart: Vec<String>,
    },
    /// The previous settings stay in effect.
    Refused(String),
}

impl SettingsFile {
    pub(crate) fn read(path: Option<PathBuf>) -> Self {
        let path = path.map(|path| fs::canonicalize(&path).unwrap_or(path));
        let sha256 = path.as_ref().and_then(|path| digest(path).ok());
        Self { path, sha256 }
    }

    pub(crate) fn into_path(self) -> Option<PathBuf> {
        self.path
    }

    /// The path of the file, if it has changed.
    pub(crate) fn changed(&self) -> Option<&PathBuf> {
        self.path.as_ref().filter(|path| digest(path).ok() != self.sha256)
    }
}

impl ReloadOutcome {
    pub(crate) fn of(outcome: &Result<overnight_config::Reloaded, CliError>) -> Self {
        match outcome {
            Ok(reloaded) => Self::Loaded {
                changed: reloaded.changed.clone(),
                needs_restart: reloaded.needs_restart.clone(),
            },
            Err(error) => Self::Refused(error.message().to_owned()),
        }
    }
}

fn digest(path: &PathBuf) -> std::io::Result<String> {
    Ok(format!("{:x}", Sha256::digest(fs::read(path)?)))
}
