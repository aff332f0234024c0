//! Calls with answers of any length over one connection.

use std::io;
use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// A keep-alive connection to a server.
pub(super) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    key: String,
    _driver: JoinSet<()>,
}

impl Connection {
    /// Connects; calls carry `key`.
    pub(super) async fn open(address: SocketAddr, key: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
        let mut driver = JoinSet::new();
        driver.spawn(async move {
            // A broken connection fails the call that waits on it.
            let _ = connection.await;
        });
        Ok(Self { sender, key: key.to_owned(), _driver: driver })
    }

    pub(super) async fn get(&mut self, path: &str) -> io::Result<Bytes> {
        let response = self.call(Method::GET, path, Bytes::new()).await?;
        Ok(response.into_body().collect().await.map_err(io::Error::other)?.to_bytes())
    }

    pub(super) async fn post(&mut self, path: &str, body: Bytes) -> io::Result<Bytes> {
        let response = self.call(Method::POST, path, body).await?;
        Ok(response.into_body().collect().await.map_err(io::Error::other)?.to_bytes())
    }

    /// Reads and discards an answer; returns its length.
    pub(super) async fn drain(&mut self, path: &str) -> io::Result<u64> {
        self.copy(path, &mut tokio::io::sink()).await
    }

    /// Writes an answer to `out`; returns its length.
    pub(super) async fn copy(&mut self, path: &str, out: &mut (impl AsyncWrite + Unpin)) -> io::Result<u64> {
        let mut body = self.call(Method::GET, path, Bytes::new()).await?.into_body();
        let mut bytes = 0;
        while let Some(frame) = body.frame().await {
            if let Ok(piece) = frame.map_err(io::Error::other)?.into_data() {
                bytes += piece.len() as u64;
                out.write_all(&piece).await?;
            }
        }
        Ok(bytes)
    }

    async fn call(&mut self, method: Method, path: &str, body: Bytes) -> io::Result<Response<Incoming>> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "localhost")
            .header("x-api-key", &self.key)
            .header("content-type", "application/json")
            .body(Full::new(body))
            .map_err(io::Error::other)?;
        self.sender.ready().await.map_err(io::Error::other)?;
        let response = self.sender.send_request(request).await.map_err(io::Error::other)?;
        if !response.status().is_success() {
            return Err(io::Error::other(format!("{path} was answered {}", response.status())));
        }
        Ok(response)
    }
}
