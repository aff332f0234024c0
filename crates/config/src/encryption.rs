//! Encryption of bodies and files, and the location of the keys.

use std::path::{Path, PathBuf, absolute};

use super::Read;
use super::section::Section;
use super::values::{flag, path};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncryptionConfig {
    pub key_dir: PathBuf,
    /// Whether new data is encrypted.
    pub enabled: bool,
}

pub(super) fn read(section: &Section<'_>, data_dir: &Path) -> Read<Option<EncryptionConfig>> {
    let enabled = section.get("enabled", flag)?;
    let Some(key_dir) = section.find("key_dir", path)? else { return Ok(None) };
    let place = |path: &Path| absolute(path).unwrap_or_else(|_| path.to_owned());
    let is_inside = place(&key_dir).starts_with(place(data_dir));
    let what = "must be outside `data_dir`: who has a copy of the data is not to have the keys with it";
    section.forbid("key_dir", is_inside.then_some(what))?;
    Ok(Some(EncryptionConfig { key_dir, enabled }))
}
