//! A raw connection, for misbehaving clients.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(30);

/// A short pause between two checks without a notification.
#[expect(clippy::disallowed_methods, reason = "the outside world runs on the machine's clock")]
pub(crate) async fn pause() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

pub(crate) struct Raw(TcpStream);

impl Raw {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self(TcpStream::connect(address).await.expect("a connection"))
    }

    /// Connects from another address of this machine, with a receive buffer of about `window` bytes.
    pub(crate) async fn connect_from(from: &str, address: SocketAddr, window: u32) -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_recv_buffer_size(window).expect("a window");
        socket
            .bind(SocketAddr::new(from.parse().expect("an address"), 0))
            .expect("an address of this machine");
        Self(socket.connect(address).await.expect("a connection"))
    }

    /// Returns once the service has reset the connection, without reading from it.
    pub(crate) async fn broken(&self) {
        while self.0.take_error().expect("a socket").is_none() {
            pause().await;
        }
    }

    pub(crate) async fn take(&mut self, bytes: usize) -> Vec<u8> {
        let mut taken = vec![0; bytes];
        let read = timeout(PATIENCE, self.0.read_exact(&mut taken)).await;
        read.expect("bytes in time").expect("an open connection");
        taken
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        self.0.write_all(bytes.as_ref()).await.expect("room");
        self
    }

    /// Sends as much as the service accepts; it may have closed the connection.
    pub(crate) async fn push(&mut self, bytes: &[u8]) -> &mut Self {
        let _ = self.0.write_all(bytes).await;
        self
    }

    /// Reads until the service closes the connection.
    pub(crate) async fn rest(&mut self) -> String {
        let mut bytes = Vec::new();
        let read = timeout(PATIENCE, self.0.read_to_end(&mut bytes)).await;
        let _ = read.expect("the service closes the connection in time");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Whether unread data have arrived.
    pub(crate) fn has_more(&self) -> bool {
        self.0.peek(&mut [0]).now_or_never().is_some()
    }

    /// Reads until `end` arrives.
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
