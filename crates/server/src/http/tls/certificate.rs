//! A certificate and its key, read from their files.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::InconsistentKeys;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use thiserror::Error;
use x509_cert::der::Decode;

use super::name;
use crate::config::TlsConfig;

/// Why a certificate cannot be served with, in words for the operator.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TlsUnusable {
    /// A file cannot be read.
    #[error("`{setting}`: {file} cannot be read: {reason}")]
    Unread {
        /// The setting that names it.
        setting: &'static str,
        /// The file.
        file: String,
        /// What the system says.
        reason: String,
    },
    /// A file does not hold what it should.
    #[error("`{setting}`: {file} holds no {wanted} in PEM")]
    Lacks {
        /// The setting that names it.
        setting: &'static str,
        /// The file.
        file: String,
        /// What it should hold.
        wanted: &'static str,
    },
    /// The key belongs to another certificate.
    #[error("the key in {key} is not that of the certificate in {cert}")]
    OtherKey {
        /// The file of the certificate.
        cert: String,
        /// The file of the key.
        key: String,
    },
    /// They are of a kind that cannot be served with.
    #[error("the certificate in {cert} cannot be used with the key in {key}: {reason}")]
    Unusable {
        /// The file of the certificate.
        cert: String,
        /// The file of the key.
        key: String,
        /// What is wrong.
        reason: String,
    },
}

impl TlsUnusable {
    pub(super) fn unusable(files: &TlsConfig, reason: &impl ToString) -> Self {
        Self::Unusable { cert: name(&files.cert), key: name(&files.key), reason: reason.to_string() }
    }
}

/// A certificate that can be served with.
#[derive(Debug, Clone)]
pub struct Certificate {
    pub(super) key: Arc<CertifiedKey>,
    /// When it ends, in seconds since 1970.
    pub not_after: u64,
}

impl Certificate {
    /// Reads and checks the files.
    ///
    /// # Errors
    ///
    /// The file that cannot be used, and why. A certificate that has ended can be used.
    pub fn read(files: &TlsConfig) -> Result<Self, TlsUnusable> {
        let (cert, key) = (file("tls.cert", &files.cert)?, file("tls.key", &files.key)?);
        let lacks = |setting, path: &Path, wanted| TlsUnusable::Lacks { setting, file: name(path), wanted };
        let chain: Result<Vec<CertificateDer<'static>>, pem::Error> =
            CertificateDer::pem_slice_iter(&cert).collect();
        let chain = chain.unwrap_or_default();
        let Some(first) = chain.first() else {
            return Err(lacks("tls.cert", &files.cert, "certificate"));
        };
        let not_after = not_after(first).map_err(|reason| TlsUnusable::unusable(files, &reason))?;
        let key = PrivateKeyDer::from_pem_slice(&key)
            .map_err(|_| lacks("tls.key", &files.key, "private key without a passphrase"))?;
        let certified = CertifiedKey::from_der(chain, key, &ring::default_provider());
        let key = certified.map_err(|reason| match reason {
            rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                TlsUnusable::OtherKey { cert: name(&files.cert), key: name(&files.key) }
            }
            reason => TlsUnusable::unusable(files, &reason),
        })?;
        Ok(Self { key: Arc::new(key), not_after })
    }
}

fn file(setting: &'static str, path: &Path) -> Result<Vec<u8>, TlsUnusable> {
    let unread =
        |error: io::Error| TlsUnusable::Unread { setting, file: name(path), reason: error.to_string() };
    fs::read(path).map_err(unread)
}

/// When a certificate ends, in seconds since 1970.
fn not_after(certificate: &[u8]) -> Result<u64, x509_cert::der::Error> {
    let read = x509_cert::Certificate::from_der(certificate)?;
    Ok(read.tbs_certificate().validity().not_after.to_unix_duration().as_secs())
}
