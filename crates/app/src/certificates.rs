//! The certificates that all outgoing calls trust in addition to the system's.

use std::io;

use overnight_config::OutgoingConfig;
use overnight_outgoing::transport::trust;
use thiserror::Error;

/// The file named by `outgoing.ca_file` cannot be used.
#[derive(Debug, Error)]
#[error("[outgoing]: {0}")]
pub struct CertificatesUnusable(#[from] io::Error);

/// Reads the certificates, even if nothing uses https yet.
pub fn check_certificates(outgoing: &OutgoingConfig) -> Result<(), CertificatesUnusable> {
    trust::read(&outgoing.ca_files)?;
    Ok(())
}
