//! A certificate and its key, read from their files.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use overnight_config::TlsConfig;
use rustls::InconsistentKeys;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use thiserror::Error;
use x509_cert::der::Decode;

use super::name;

/// Why a certificate cannot be used, worded for the operator.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TlsUnusable {
    #[error("`{setting}`: {file} cannot be read: {reason}")]
    Unread {
        /// The setting that names the file.
        setting: &'static str,
        file: String,
        reason: String,
    },
    /// A file does not contain the expected object.
    #[error("`{setting}`: {file} holds no {wanted} in PEM")]
    Lacks {
        /// The setting that names the file.
        setting: &'static str,
        file: String,
        wanted: &'static str,
    },
    /// The key belongs to another certificate.
    #[error("the key in {key} is not that of the certificate in {cert}")]
    OtherKey { cert: String, key: String },
    /// The certificate or key is of an unsupported kind.
    #[error("the certificate in {cert} cannot be used with the key in {key}: {reason}")]
    Unusable { cert: String, key: String, reason: String },
}

impl TlsUnusable {
    pub(super) fn unusable(files: &TlsConfig, reason: &impl ToString) -> Self {
        Self::Unusable { cert: name(&files.cert), key: name(&files.key), reason: reason.to_string() }
    }
}

/// A usable certificate.
#[derive(Debug, Clone)]
pub struct Certificate {
    pub(super) key: Arc<CertifiedKey>,
    /// In seconds since 1970.
    pub not_after: u64,
}

impl Certificate {
    /// Reads and checks the files. An expired certificate is accepted.
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

/// In seconds since 1970.
fn not_after(certificate: &[u8]) -> Result<u64, x509_cert::der::Error> {
    let read = x509_cert::Certificate::from_der(certificate)?;
    Ok(read.tbs_certificate().validity().not_after.to_unix_duration().as_secs())
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::*;

    /// Files with these contents, in a new folder.
    fn files(cert: &str, key: &str) -> (TlsConfig, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let files = TlsConfig { cert: folder.path().join("cert.pem"), key: folder.path().join("key.pem") };
        fs::write(&files.cert, cert).unwrap();
        fs::write(&files.key, key).unwrap();
        (files, folder)
    }

    /// A certificate that expires at the end of 2030, and its key.
    fn made() -> (String, String) {
        let mut params = CertificateParams::new(vec!["night.example.com".to_owned()]).unwrap();
        params.not_after = date_time_ymd(2030, 12, 31);
        let key = KeyPair::generate().unwrap();
        (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
    }

    fn refused(cert: &str, key: &str) -> String {
        let (files, _folder) = files(cert, key);
        Certificate::read(&files).unwrap_err().to_string()
    }

    #[test]
    fn a_certificate_is_read_with_its_end() {
        let (cert, key) = made();
        let (files, _folder) = files(&cert, &key);
        assert_eq!(Certificate::read(&files).unwrap().not_after, 1_924_905_600);
    }

    #[test]
    fn what_cannot_be_served_with_is_told_by_its_file() {
        let ((cert, key), (_, other_key)) = (made(), made());
        assert!(refused(&cert, &other_key).contains("key.pem is not that of the certificate in "));
        for (cert, key, said) in [
            ("", &*key, ["`tls.cert`: ", "cert.pem holds no certificate in PEM"]),
            (&*key, &*key, ["`tls.cert`: ", "cert.pem holds no certificate in PEM"]),
            (&*cert, "", ["`tls.key`: ", "key.pem holds no private key without a passphrase in PEM"]),
            (&*cert, &*cert, ["`tls.key`: ", "key.pem holds no private key without a passphrase in PEM"]),
        ] {
            let refused = refused(cert, key);
            assert!(said.iter().all(|said| refused.contains(said)), "{refused}");
        }
        let (files, folder) = files(&cert, &key);
        drop(folder);
        assert!(Certificate::read(&files).unwrap_err().to_string().contains("cert.pem cannot be read: "));
    }
}
