//! Which file of settings a service loaded, and how loading it again went.

use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::errors::CliError;

/// A file of settings as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SettingsFile {
    /// `None` where there is none.
    path: Option<PathBuf>,
    /// The digest of its bytes; `None` where it could not be read.
    sha256: Option<String>,
}

/// The settings of a service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LoadedSettings {
    /// As they were loaded last.
    pub(crate) file: SettingsFile,
    /// How often they were loaded again, or should have been.
    pub(crate) reloads: u64,
    /// How that went the last time.
    pub(crate) last: Option<ReloadOutcome>,
}

/// How loading settings again went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReloadOutcome {
    /// They hold, but for those that need a restart.
    Loaded {
        /// Those that are others than before.
        changed: Vec<String>,
        /// Those that are others in the file and hold after a restart only.
        needs_restart: Vec<String>,
    },
    /// Those of before hold.
    Refused(String),
}

impl SettingsFile {
    /// The file as it is now.
    pub(crate) fn read(path: Option<PathBuf>) -> Self {
        let path = path.map(|path| fs::canonicalize(&path).unwrap_or(path));
        let sha256 = path.as_ref().and_then(|path| digest(path).ok());
        Self { path, sha256 }
    }

    /// Where it is.
    pub(crate) fn into_path(self) -> Option<PathBuf> {
        self.path
    }

    /// Where the file is, where it is another by now.
    pub(crate) fn changed(&self) -> Option<&PathBuf> {
        self.path.as_ref().filter(|path| digest(path).ok() != self.sha256)
    }
}

impl ReloadOutcome {
    /// How a reload went, for whoever asks later.
    pub(crate) fn of(outcome: &Result<overnight_server::config::Reloaded, CliError>) -> Self {
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
