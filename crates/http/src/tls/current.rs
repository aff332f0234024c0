use std::sync::{Arc, Mutex, PoisonError, RwLock};

use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::certificate::{Certificate, TlsUnusable};

/// The certificate for new connections, until it is replaced.
#[derive(Debug)]
pub(super) struct Current {
    certificate: RwLock<Certificate>,
    /// The error of the last attempt to read the files.
    refused: Mutex<Option<TlsUnusable>>,
}

impl Current {
    pub(super) fn new(certificate: Certificate) -> Self {
        Self { certificate: RwLock::new(certificate), refused: Mutex::new(None) }
    }

    /// In seconds since 1970.
    pub(super) fn not_after(&self) -> u64 {
        self.certificate.read().unwrap_or_else(PoisonError::into_inner).not_after
    }

    /// Replaces the certificate. Returns whether it is a different one.
    pub(super) fn replace(&self, by: &Certificate) -> bool {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let mut current = self.certificate.write().unwrap_or_else(PoisonError::into_inner);
        let is_other = current.key.cert != by.key.cert;
        *current = by.clone();
        is_other
    }

    /// Notes that the files cannot be used. Returns whether that is new.
    pub(super) fn refuse(&self, why: &TlsUnusable) -> bool {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = refused.as_ref() != Some(why);
        *refused = Some(why.clone());
        is_news
    }
}

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let certificate = self.certificate.read().unwrap_or_else(PoisonError::into_inner);
        Some(Arc::clone(&certificate.key))
    }
}
