use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd,
};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tempfile::NamedTempFile;
use tokio_rustls::TlsAcceptor;

pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>, NamedTempFile);

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let file = NamedTempFile::new().unwrap();
        std::fs::write(file.path(), issuer.pem()).unwrap();
        Self(issuer, file)
    }

    pub(crate) fn root(&self) -> CertificateDer<'static> {
        self.0.der().clone()
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.1.path().to_owned()
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    /// The server side of TLS with a certificate for `name`.
    pub(crate) fn certify(&self, name: &str) -> TlsAcceptor {
        self.certify_until(name, 4_000)
    }

    /// In PEM.
    pub(crate) fn certify_in_pem(&self, name: &str) -> (String, String) {
        let (certificate, key) = self.sign(name, 4_000);
        (certificate.pem(), key.serialize_pem())
    }

    fn sign(&self, name: &str, year: i32) -> (Certificate, KeyPair) {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_after = date_time_ymd(year, 12, 31);
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.0).unwrap(), key)
    }

    /// The server side of TLS with the authority's own certificate, like a self-signed server.
    pub(crate) fn certify_itself(&self) -> TlsAcceptor {
        accepting(self.0.der().clone(), self.0.key())
    }

    /// The same, valid until the end of a year.
    pub(crate) fn certify_until(&self, name: &str, year: i32) -> TlsAcceptor {
        let (certificate, key) = self.sign(name, year);
        accepting(certificate.der().clone(), &key)
    }
}

fn accepting(certificate: CertificateDer<'static>, key: &KeyPair) -> TlsAcceptor {
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    TlsAcceptor::from(Arc::new(config))
}
