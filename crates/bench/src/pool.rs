//! A bare pooled client: it stores nothing and forgets every answer.

use std::io;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

/// Keep-alive connections, shared by clones.
#[derive(Debug, Clone)]
pub(crate) struct Pool(Client<HttpConnector, Full<Bytes>>);

impl Pool {
    pub(crate) fn new() -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self(Client::builder(TokioExecutor::new()).build(connector))
    }

    /// Sends a JSON body and waits for the whole answer. Fails with the answer's text if its status is not 2xx.
    pub(crate) async fn post(&self, uri: Uri, body: Bytes) -> io::Result<()> {
        let request = Request::post(uri).header("content-type", "application/json").body(Full::new(body));
        let request = request.map_err(io::Error::other)?;
        let response = self.0.request(request).await.map_err(io::Error::other)?;
        let status = response.status();
        let answer = response.into_body().collect().await.map_err(io::Error::other)?.to_bytes();
        if status.is_success() {
            return Ok(());
        }
        Err(io::Error::other(format!("the engine answered {status}: {}", String::from_utf8_lossy(&answer))))
    }
}
