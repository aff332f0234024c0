//! The certificate for clients, if no proxy terminates TLS.

use std::path::PathBuf;

use super::Read;
use super::section::Section;
use super::values::path;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsConfig {
    /// PEM: the certificate, and its intermediate ones.
    pub cert: PathBuf,
    pub key: PathBuf,
}

pub(super) fn read(section: &Section<'_>) -> Read<Option<TlsConfig>> {
    match (section.find("cert", path)?, section.find("key", path)?) {
        (Some(cert), Some(key)) => Ok(Some(TlsConfig { cert, key })),
        (None, None) => Ok(None),
        (Some(_), None) => Err(section.refuse("cert", "is set, and `tls.key` is missing")),
        (None, Some(_)) => Err(section.refuse("key", "is set, and `tls.cert` is missing")),
    }
}
