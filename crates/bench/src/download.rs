//! Calls with answers of any length over one connection.

use std::io;
use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::http::request::Builder;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// A keep-alive connection to a server.
pub(super) struct Connection {
    address: SocketAddr,
    sender: SendRequest<Full<Bytes>>,
    /// A header of each call.
    credentials: (&'static str, String),
    _driver: JoinSet<()>,
}

impl Connection {
    /// Connects; calls carry `key`.
    pub(super) async fn open(address: SocketAddr, key: &str) -> io::Result<Self> {
        Self::open_as(address, ("x-api-key", key.to_owned())).await
    }

    /// Connects; calls carry this header.
    pub(super) async fn open_as(
        address: SocketAddr,
        credentials: (&'static str, String),
    ) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
        let mut driver = JoinSet::new();
        driver.spawn(async move {
            // A broken connection fails the call that waits on it.
            let _ = connection.await;
        });
        Ok(Self { address, sender, credentials, _driver: driver })
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

    /// Signs in by a link of the console; returns the cookie of the session.
    pub(super) async fn sign_in(&mut self, path: &str) -> io::Result<String> {
        let request = self.request(Method::POST, path).header("origin", format!("http://{}", self.address));
        let response = self.send(request, Bytes::new()).await?;
        let cookies = response.headers().get_all("set-cookie").into_iter();
        let mut cookies = cookies.filter_map(|cookie| cookie.to_str().ok()?.split(';').next());
        let session = cookies.find(|cookie| cookie.starts_with("overnight_session"));
        let status = response.status();
        session
            .map(str::to_owned)
            .ok_or_else(|| io::Error::other(format!("the sign-in was answered {status}")))
    }

    async fn call(&mut self, method: Method, path: &str, body: Bytes) -> io::Result<Response<Incoming>> {
        let response = self.send(self.request(method, path), body).await?;
        if !response.status().is_success() {
            return Err(io::Error::other(format!("{path} was answered {}", response.status())));
        }
        Ok(response)
    }

    fn request(&self, method: Method, path: &str) -> Builder {
        let (credentials, value) = (self.credentials.0, &self.credentials.1);
        let request = Request::builder().method(method).uri(path).header("host", self.address.to_string());
        request.header(credentials, value).header("content-type", "application/json")
    }

    async fn send(&mut self, request: Builder, body: Bytes) -> io::Result<Response<Incoming>> {
        let request = request.body(Full::new(body)).map_err(io::Error::other)?;
        self.sender.ready().await.map_err(io::Error::other)?;
        self.sender.send_request(request).await.map_err(io::Error::other)
    }
}
