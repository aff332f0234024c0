//! The certificates that all calls of the service trust beside those of the system.

use std::io;

use thiserror::Error;

use crate::config::OutgoingConfig;
use crate::transport::trust;

/// The file that `outgoing.ca_file` names cannot be used.
#[derive(Debug, Error)]
#[error("[outgoing]: {0}")]
pub struct CertificatesUnusable(#[from] io::Error);

/// Reads the certificates, whether anything is called by https yet or not.
///
/// # Errors
/// The file that cannot be read, or holds no certificate.
pub fn check_certificates(outgoing: &OutgoingConfig) -> Result<(), CertificatesUnusable> {
    trust::read(&outgoing.ca_files)?;
    Ok(())
}
