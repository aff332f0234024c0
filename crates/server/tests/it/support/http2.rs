//! An HTTP/2 connection with a flow-control window under the test's control.

use std::net::SocketAddr;

use axum::http::{Request, Response};
use http_body_util::Empty;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use super::TestApp;

pub(crate) struct Http2 {
    sender: SendRequest<Empty<Bytes>>,
    address: SocketAddr,
    key: String,
    ended: JoinHandle<()>,
}

impl Http2 {
    /// Connects. The service may send `window` bytes of each response before they are read.
    pub(crate) async fn connect(app: &TestApp, window: u32) -> Self {
        let stream = TcpStream::connect(app.address).await.expect("a connection");
        let mut builder = Builder::new(TokioExecutor::new());
        builder.initial_stream_window_size(window);
        let (sender, connection) = builder.handshake(TokioIo::new(stream)).await.expect("HTTP/2");
        let ended = tokio::spawn(async move { drop(connection.await) });
        Self { sender, address: app.address, key: app.key().to_owned(), ended }
    }

    pub(crate) fn get(
        &self,
        path: &str,
    ) -> impl Future<Output = hyper::Result<Response<Incoming>>> + 'static {
        let request = Request::get(format!("http://{}{path}", self.address))
            .header("x-api-key", &self.key)
            .body(Empty::new())
            .expect("a request");
        let mut sender = self.sender.clone();
        async move {
            sender.ready().await?;
            sender.send_request(request).await
        }
    }

    /// Returns once the service has closed the connection.
    pub(crate) async fn closed(&mut self) {
        (&mut self.ended).await.expect("a connection");
    }
}
