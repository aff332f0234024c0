//! One call over one connection.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, pin_mut};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::header::HOST;
use hyper::http::uri::PathAndQuery;
use hyper::{HeaderMap, Request, Response, Uri};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite};

use super::failure::Failure;
use crate::transport::read_start;

const HEAD_BYTES_MAX: u32 = 64 << 10;

/// Bytes of a body that are read. They are discarded: a sender whose body is read sees no broken connection.
const BODY_BYTES_MAX: u32 = 64 << 10;

/// An answer whose head has arrived. If dropped, the connection is closed.
pub(super) struct Answered {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    body: Incoming,
    connection: BoxFuture<'static, ()>,
}

impl Answered {
    /// Reads the body to its end or its limit.
    pub(super) async fn drain(mut self) {
        let mut start = Vec::new();
        beside(&mut self.connection, read_start(self.body, &mut start, BODY_BYTES_MAX as usize)).await;
    }
}

/// Sends a request over a new connection, and waits for the head of the answer.
pub(super) async fn ask(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    request: Request<Full<Bytes>>,
) -> Result<Answered, Failure> {
    let opened = http1::Builder::new()
        .max_header_size(HEAD_BYTES_MAX as usize)
        .max_buf_size(HEAD_BYTES_MAX as usize)
        .handshake(TokioIo::new(stream))
        .await;
    let (mut sender, connection) = opened.map_err(|error| broken(&error))?;
    answered(sender.send_request(request), connection.map(drop).fuse().boxed()).await
}

/// The same over HTTP/2.
pub(super) async fn ask_over_http2(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    mut request: Request<Full<Bytes>>,
) -> Result<Answered, Failure> {
    // In HTTP/2 the host is part of the URL.
    if let Some(host) = request.headers_mut().remove(HOST) {
        let whole = Uri::builder()
            .scheme("https")
            .authority(host.as_bytes())
            .path_and_query(request.uri().path_and_query().map_or("/", PathAndQuery::as_str))
            .build();
        *request.uri_mut() = whole.map_err(|error| Failure::Url.because(&error))?;
    }
    let opened = http2::Builder::new(TokioExecutor::new())
        .max_header_list_size(HEAD_BYTES_MAX)
        .initial_stream_window_size(BODY_BYTES_MAX)
        .initial_connection_window_size(BODY_BYTES_MAX)
        .handshake(TokioIo::new(stream))
        .await;
    let (mut sender, connection) = opened.map_err(|error| broken(&error))?;
    answered(sender.send_request(request), connection.map(drop).fuse().boxed()).await
}

async fn answered(
    answer: impl Future<Output = hyper::Result<Response<Incoming>>>,
    mut connection: BoxFuture<'static, ()>,
) -> Result<Answered, Failure> {
    let answer = beside(&mut connection, answer).await.map_err(|error| broken(&error))?;
    let (head, body) = answer.into_parts();
    Ok(Answered { status: head.status.as_u16(), headers: head.headers, body, connection })
}

fn broken(error: &hyper::Error) -> Failure {
    Failure::Broken.because(error)
}

/// Runs `work` and drives the connection, which may end earlier.
async fn beside<T>(connection: &mut BoxFuture<'static, ()>, work: impl Future<Output = T>) -> T {
    pin_mut!(work);
    tokio::select! {
        biased;
        done = &mut work => done,
        () = connection => work.await,
    }
}
