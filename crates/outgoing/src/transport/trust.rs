//! Trusted certificates: those of this machine's authorities and those in the configured files.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use rustls_platform_verifier::Verifier;

/// TLS for clients with this trust.
pub fn client_config(ca_files: &[PathBuf]) -> io::Result<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let named = read(ca_files)?;
    let authorities = Verifier::new_with_extra_roots(named.iter().cloned(), Arc::clone(&provider))
        .map_err(io::Error::other)?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Trust { authorities, named }))
        .with_no_client_auth();
    Ok(config)
}

/// At least one certificate in each file.
pub fn read(ca_files: &[PathBuf]) -> io::Result<Vec<CertificateDer<'static>>> {
    let mut certificates = Vec::new();
    for file in ca_files {
        let unusable = |what: &str| io::Error::other(format!("`ca_file` {}: {what}", file.display()));
        let found = CertificateDer::pem_file_iter(file).map_err(|error| unusable(&error.to_string()))?;
        let before = certificates.len();
        for certificate in found {
            certificates.push(certificate.map_err(|error| unusable(&error.to_string()))?);
        }
        if certificates.len() == before {
            return Err(unusable("it holds no certificate in PEM"));
        }
    }
    Ok(certificates)
}

/// Trusts authorities, and a server that shows a certificate of the files itself: a self-signed certificate is often marked as that of an
/// authority, and would be refused as a server's.
#[derive(Debug)]
struct Trust {
    authorities: Verifier,
    named: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.named.contains(end_entity) {
            rustls::client::verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
            return Ok(ServerCertVerified::assertion());
        }
        self.authorities.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.authorities.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.authorities.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.authorities.supported_verify_schemes()
    }
}
