//! Where the key of an engine stands.

use std::fmt;
use std::path::PathBuf;

use super::{path, variable_name};
use crate::config::ConfigError;
use crate::config::section::Section;

/// Where the key of an engine stands. It is read when the service starts and when its settings are loaded again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeySource {
    /// In an environment variable, which a process keeps as it was when it started.
    Variable(String),
    /// In a file, which may be another one when the settings are loaded again.
    File(PathBuf),
}

impl fmt::Display for KeySource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(formatter, "the environment variable {name}"),
            Self::File(path) => write!(formatter, "the file {}", path.display()),
        }
    }
}

/// What `api_key_env` or `api_key_file` of an engine names.
pub(super) fn read(section: &Section<'_>) -> Result<Option<KeySource>, ConfigError> {
    let variable = section.read("api_key_env", variable_name)?;
    let file = path(section, "api_key_file")?;
    match (variable, file) {
        (Some(_), Some(_)) => {
            Err(section.refuse("api_key_file", "stands beside `api_key_env`: give one of them"))
        }
        (Some(name), None) => Ok(Some(KeySource::Variable(name))),
        (None, file) => Ok(file.map(KeySource::File)),
    }
}
