//! One call over one connection.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, pin_mut};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::Builder;
use hyper::{HeaderMap, Request};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

use super::failure::Failure;
use crate::transport::read_start;

/// The longest head of an answer.
const HEAD_BYTES_MAX: usize = 64 << 10;

/// What is taken in of a body. Nobody looks at it: who is read to the end is not told of a broken connection.
const BODY_BYTES_MAX: usize = 64 << 10;

/// An answer whose head has come. Dropped, the connection is closed.
pub(super) struct Answered {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    body: Incoming,
    connection: BoxFuture<'static, ()>,
}

impl Answered {
    /// Takes in the body, to its end or to as much as anybody may send.
    pub(super) async fn drain(mut self) {
        let mut start = Vec::new();
        beside(&mut self.connection, read_start(self.body, &mut start, BODY_BYTES_MAX)).await;
    }
}

/// Sends a request over a new connection, and waits for the head of the answer.
pub(super) async fn ask(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    request: Request<Full<Bytes>>,
) -> Result<Answered, Failure> {
    let broken = |error: hyper::Error| Failure::Broken.because(&error);
    let opened = Builder::new()
        .max_header_size(HEAD_BYTES_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .handshake(TokioIo::new(stream))
        .await;
    let (mut sender, connection) = opened.map_err(broken)?;
    let mut connection = connection.map(drop).fuse().boxed();
    let answer = beside(&mut connection, sender.send_request(request)).await.map_err(broken)?;
    let (head, body) = answer.into_parts();
    Ok(Answered { status: head.status.as_u16(), headers: head.headers, body, connection })
}

/// Does what is waited for, and meanwhile what the connection needs, which may end before.
async fn beside<T>(connection: &mut BoxFuture<'static, ()>, work: impl Future<Output = T>) -> T {
    pin_mut!(work);
    tokio::select! {
        biased;
        done = &mut work => done,
        () = connection => work.await,
    }
}
