//! The source of an engine's key, read when the service starts and at each reload.

use std::fmt;
use std::path::PathBuf;

use crate::Read;
use crate::section::Section;
use crate::values::{path, variable};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeySource {
    /// An environment variable, which never changes in a process.
    Variable(String),
    /// A file, which may have changed at a reload.
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

pub(super) fn read(section: &Section<'_>) -> Read<Option<KeySource>> {
    match (section.find("api_key_env", variable)?, section.find("api_key_file", path)?) {
        (Some(_), Some(_)) => {
            Err(section.refuse("api_key_file", "stands beside `api_key_env`: give one of them"))
        }
        (Some(name), None) => Ok(Some(KeySource::Variable(name))),
        (None, file) => Ok(file.map(KeySource::File)),
    }
}
