//! TLS with receivers, who prove who they are by certificates of authorities that this machine trusts.

use std::io;
use std::sync::{Arc, OnceLock};

use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls_platform_verifier::Verifier;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::failure::Failure;

/// What may be spoken under it: the receiver chooses.
const PROTOCOLS: [&[u8]; 2] = [b"http/1.1", HTTP2];
const HTTP2: &[u8] = b"h2";

/// Whether the receiver chose HTTP/2.
pub(super) fn is_http2(stream: &TlsStream<TcpStream>) -> bool {
    stream.get_ref().1.alpn_protocol() == Some(HTTP2)
}

/// Whom to trust. The authorities are read when they are first wanted.
#[derive(Default)]
pub(super) struct Tls {
    roots: Vec<CertificateDer<'static>>,
    read: OnceLock<TlsConnector>,
}

impl Tls {
    /// Trusts these authorities too.
    pub(super) fn trusting(roots: Vec<CertificateDer<'static>>) -> Self {
        Self { roots, read: OnceLock::new() }
    }

    /// TLS over a connection to the host of this name.
    pub(super) async fn connect(
        &self,
        stream: TcpStream,
        name: ServerName<'static>,
    ) -> Result<TlsStream<TcpStream>, Failure> {
        let stream = self.connector()?.connect(name, stream).await;
        stream.map_err(|error| Failure::Tls.because(&error))
    }

    fn connector(&self) -> Result<&TlsConnector, Failure> {
        if let Some(read) = self.read.get() {
            return Ok(read);
        }
        let read = self.read_authorities().map_err(|error| {
            tracing::warn!(error = %error, "no certificate authorities found; webhooks cannot be delivered over https");
            Failure::Tls
        })?;
        Ok(self.read.get_or_init(|| read))
    }

    fn read_authorities(&self) -> io::Result<TlsConnector> {
        let provider = Arc::new(ring::default_provider());
        let verifier = Verifier::new_with_extra_roots(self.roots.iter().cloned(), Arc::clone(&provider))
            .map_err(io::Error::other)?;
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).into();
        Ok(TlsConnector::from(Arc::new(config)))
    }
}
