//! The certificate that the service shows to its clients, where no proxy does.

use std::path::PathBuf;

use super::ConfigError;
use super::engines;
use super::section::Section;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsConfig {
    /// The certificate and those of the authorities between it and one that clients trust, in PEM.
    pub cert: PathBuf,
    pub key: PathBuf,
}

/// The `[tls]` section; `None` where it names no files.
pub(super) fn read(root: &Section<'_>) -> Result<Option<TlsConfig>, ConfigError> {
    let section = root.section("tls")?;
    let (cert, key) = (engines::path(&section, "cert")?, engines::path(&section, "key")?);
    match (cert, key) {
        (Some(cert), Some(key)) => Ok(Some(TlsConfig { cert, key })),
        (None, None) => Ok(None),
        (Some(_), None) => Err(section.refuse("cert", "is set, and `tls.key` is missing")),
        (None, Some(_)) => Err(section.refuse("key", "is set, and `tls.cert` is missing")),
    }
}
