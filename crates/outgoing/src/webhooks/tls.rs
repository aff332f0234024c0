//! TLS with receivers, whose certificates must be of authorities that this machine trusts.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::failure::Failure;
use crate::transport::trust;

/// Offered protocols: the receiver chooses.
const PROTOCOLS: [&[u8]; 2] = [b"http/1.1", HTTP2];
const HTTP2: &[u8] = b"h2";

pub(super) fn is_http2(stream: &TlsStream<TcpStream>) -> bool {
    stream.get_ref().1.alpn_protocol() == Some(HTTP2)
}

/// The authorities are read on first use.
#[derive(Default)]
pub(super) struct Tls {
    ca_files: Vec<PathBuf>,
    read: OnceLock<TlsConnector>,
}

impl Tls {
    /// Also trusts the certificates in these files.
    pub(super) fn trusting(ca_files: Vec<PathBuf>) -> Self {
        Self { ca_files, read: OnceLock::new() }
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
        let mut config = trust::client_config(&self.ca_files)?;
        config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).into();
        Ok(TlsConnector::from(Arc::new(config)))
    }
}
