//! TLS for services without a proxy: the certificate is read again when its files change.

mod certificate;
mod current;
mod handshakes;

use std::io;
use std::path::Path;
use std::sync::Arc;

use metrics::gauge;
use rustls::ServerConfig;
use rustls::crypto::ring;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

pub use self::certificate::{Certificate, TlsUnusable};
use overnight_base::clock::SharedClock;
use overnight_base::tasks;
use overnight_config::TlsConfig;

use self::current::Current;
use self::handshakes::Handshakes;
use super::permits::Origin;
use super::sending::Socket;

/// The interval of looks at the files, in milliseconds.
const LOOK_MS: i64 = 10_000;

/// The first byte of every connection with TLS: the type of a handshake's record.
pub(super) const FIRST_BYTE: u8 = 22;

/// Marks a call without TLS where the API requires it.
#[derive(Debug, Clone, Copy)]
pub(super) struct InTheOpen;

const EXPIRY: &str = "overnight_tls_certificate_expiry_timestamp_seconds";

/// Opens connections with TLS.
pub struct Tls {
    files: TlsConfig,
    current: Arc<Current>,
    acceptor: TlsAcceptor,
    /// For connections in the reserve, which are HTTP/1.1.
    reserve_acceptor: TlsAcceptor,
    handshakes: Handshakes,
}

impl Tls {
    /// Reads the certificate and its key.
    pub fn read(files: &TlsConfig) -> Result<Self, TlsUnusable> {
        let current = Arc::new(Current::new(Certificate::read(files)?));
        let acceptor = |protocols: &[&[u8]]| {
            // Both current versions, which ring's provider supports.
            let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
                .with_safe_default_protocol_versions()
                .map_err(|reason| TlsUnusable::unusable(files, &reason))?;
            let resolver = Arc::clone(&current);
            let mut config = builder.with_no_client_auth().with_cert_resolver(resolver);
            config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
            Ok(TlsAcceptor::from(Arc::new(config)))
        };
        let (acceptor, reserve_acceptor) = (acceptor(&[b"h2", b"http/1.1"])?, acceptor(&[b"http/1.1"])?);
        let handshakes = Handshakes::new();
        Ok(Self { files: files.clone(), current, acceptor, reserve_acceptor, handshakes })
    }

    /// Performs the TLS handshake when it may begin. Fails if the client sends none, or shares no version and suite.
    pub(super) async fn accept(
        self: Arc<Self>,
        socket: Socket,
        origin: Origin,
        is_reserve: bool,
        clock: &SharedClock,
    ) -> io::Result<Box<TlsStream<Socket>>> {
        self.handshakes.may_begin(origin, clock).await;
        let opened = tasks::aside(async move {
            let acceptor = if is_reserve { &self.reserve_acceptor } else { &self.acceptor };
            self.handshakes.perform(origin.network, acceptor.accept(socket)).await.map(Box::new)
        });
        opened.await.unwrap_or_else(|| Err(io::Error::other("the handshake was aborted")))
    }

    /// Reads the files when they change, as long as it is polled. If they cannot be used, the certificate stays.
    pub(super) async fn keep_current(&self, clock: &SharedClock) {
        loop {
            gauge!(EXPIRY).set(self.current.not_after() as f64);
            clock.sleep_until(clock.now() + LOOK_MS).await;
            let files = self.files.clone();
            let read = tokio::task::spawn_blocking(move || Certificate::read(&files));
            match read.await {
                Ok(Ok(certificate)) if self.current.replace(&certificate) => {
                    tracing::info!(cert = %name(&self.files.cert), "serving with a new certificate");
                }
                Ok(Err(error)) if self.current.refuse(&error) => {
                    tracing::warn!(%error, "the certificate stays as it was");
                }
                _ => {}
            }
        }
    }
}

fn name(path: &Path) -> String {
    path.display().to_string()
}
