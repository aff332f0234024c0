//! A bare connection, for what no well-behaved client sends.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(30);

/// A bare connection.
pub(crate) struct Raw(TcpStream);

impl Raw {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self(TcpStream::connect(address).await.expect("a connection"))
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        self.0.write_all(bytes.as_ref()).await.expect("room");
        self
    }

    /// Sends as much as the service takes; it may have closed.
    pub(crate) async fn push(&mut self, bytes: &[u8]) -> &mut Self {
        let _ = self.0.write_all(bytes).await;
        self
    }

    /// Everything that comes until the service closes the connection.
    pub(crate) async fn rest(&mut self) -> String {
        let mut bytes = Vec::new();
        let read = timeout(PATIENCE, self.0.read_to_end(&mut bytes)).await;
        let _ = read.expect("the service closes the connection in time");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// What comes, until it holds `end`.
    pub(crate) async fn until(&mut self, end: &str) -> String {
        let mut text = String::new();
        let mut piece = [0; 4096];
        while !text.contains(end) {
            let read = timeout(PATIENCE, self.0.read(&mut piece)).await.expect("an answer in time");
            let count = read.expect("an open connection");
            assert!(count > 0, "the connection was closed after: {text}");
            text.push_str(&String::from_utf8_lossy(&piece[..count]));
        }
        text
    }
}
