//! Whether bodies and files are encrypted, and where the keys are.

use std::path::{Path, PathBuf, absolute};

use super::ConfigError;
use super::engines;
use super::section::Section;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncryptionConfig {
    pub key_dir: PathBuf,
    /// Whether what is stored from now on is encrypted.
    pub enabled: bool,
}

/// The `[encryption]` section; `None` where it names no folder.
pub(super) fn read(section: &Section<'_>, data_dir: &Path) -> Result<Option<EncryptionConfig>, ConfigError> {
    let enabled = section.required("enabled", section.boolean("enabled")?)?;
    let Some(key_dir) = engines::path(section, "key_dir")? else { return Ok(None) };
    let place = |path: &Path| absolute(path).unwrap_or_else(|_| path.to_owned());
    if place(&key_dir).starts_with(place(data_dir)) {
        let what = "must be outside `data_dir`: who has a copy of the data is not to have the keys with it";
        return Err(section.refuse("key_dir", what));
    }
    Ok(Some(EncryptionConfig { key_dir, enabled }))
}
