//! Certificate files, and a TLS client.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::Authority;

const NAME: &str = "night.example.com";

/// The files that `[tls]` names, with their own authority.
pub(crate) struct TlsFiles {
    authority: Authority,
    folder: TempDir,
}

impl TlsFiles {
    pub(crate) fn new() -> Self {
        let files = Self { authority: Authority::new(), folder: tempfile::tempdir().unwrap() };
        files.renew();
        files
    }

    pub(crate) fn renew(&self) {
        let (cert, key) = self.authority.certify_in_pem(NAME);
        std::fs::write(self.cert(), cert).unwrap();
        std::fs::write(self.key(), key).unwrap();
    }

    pub(crate) fn cert(&self) -> PathBuf {
        self.folder.path().join("fullchain.pem")
    }

    pub(crate) fn key(&self) -> PathBuf {
        self.folder.path().join("privkey.pem")
    }

    /// The settings with these files, and `more`.
    pub(crate) fn settings<'a>(&self, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, String)> {
        let path = |path: PathBuf| path.to_str().unwrap().to_owned();
        let files = [("tls.cert", path(self.cert())), ("tls.key", path(self.key()))];
        files.into_iter().chain(more.iter().map(|(name, value)| (*name, (*value).to_owned()))).collect()
    }

    /// A TLS 1.3 connection that offers these protocols.
    pub(crate) async fn connect(&self, address: SocketAddr, protocols: &[&[u8]]) -> Secured {
        self.try_connect(address, protocols, &TLS13).await.expect("a handshake")
    }

    pub(crate) async fn connect_12(&self, address: SocketAddr) -> Secured {
        self.try_connect(address, &[], &TLS12).await.expect("a handshake")
    }

    async fn try_connect(
        &self,
        address: SocketAddr,
        protocols: &[&[u8]],
        version: &'static SupportedProtocolVersion,
    ) -> std::io::Result<Secured> {
        let mut roots = RootCertStore::empty();
        roots.add(self.authority.root()).unwrap();
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[version])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        let stream = TcpStream::connect(address).await?;
        let name = ServerName::try_from(NAME).unwrap();
        Ok(Secured(TlsConnector::from(Arc::new(config)).connect(name, stream).await?))
    }
}

pub(crate) struct Secured(pub(crate) TlsStream<TcpStream>);

impl Secured {
    pub(crate) fn protocol(&self) -> Option<&[u8]> {
        self.0.get_ref().1.alpn_protocol()
    }

    pub(crate) fn certificate(&self) -> CertificateDer<'static> {
        self.0.get_ref().1.peer_certificates().expect("a certificate")[0].clone().into_owned()
    }

    pub(crate) async fn send(&mut self, text: &str) -> &mut Self {
        self.0.write_all(text.as_bytes()).await.expect("room");
        self.0.flush().await.expect("room");
        self
    }

    /// Reads until `end` arrives.
    pub(crate) async fn until(&mut self, end: &str) -> String {
        let mut text = String::new();
        let mut piece = [0; 4096];
        while !text.contains(end) {
            let count = self.0.read(&mut piece).await.expect("an open connection");
            assert!(count > 0, "the connection was closed after: {text}");
            text.push_str(&String::from_utf8_lossy(&piece[..count]));
        }
        text
    }
}
