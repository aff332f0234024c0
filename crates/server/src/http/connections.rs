//! One connection, HTTP/1.1 or HTTP/2, and the limits on what a client may make of it.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::uri::PathAndQuery;
use axum::http::{Request, Uri};
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tower::Service;

use super::bodies::Received;
use super::context::{Peer, Shared, after};

const HEADERS_MAX: usize = 64;
const HEADER_BYTES_MAX: u32 = 16 << 10;
const STREAMS_MAX: u32 = 100;

/// A peer of HTTP/2 that is silent for so long is asked whether it is there.
const PING_AFTER: Duration = Duration::from_secs(30);

/// A peer of HTTP/2 that is not there.
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// What a connection is served with.
pub(super) struct Connection {
    pub(super) context: Shared,
    /// Made in `router.rs`: a call passes `calls::handle`, then its handler.
    pub(super) router: Router,
    pub(super) peer: Peer,
    pub(super) stopping: watch::Receiver<bool>,
}

impl Connection {
    /// Serves it until either side ends it.
    pub(super) async fn run(self, stream: TcpStream) {
        // Without it only latency is worse.
        let _ = stream.set_nodelay(true);
        let has_asked = Arc::new(AtomicBool::new(false));
        let service = {
            let (context, router, peer) = (Arc::clone(&self.context), self.router, self.peer);
            let has_asked = Arc::clone(&has_asked);
            service_fn(move |request| {
                has_asked.store(true, Ordering::Relaxed);
                router.clone().call(prepare(request, peer, &context))
            })
        };
        let builder = builder(self.context.timeouts.header);
        let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
        let mut interruptions = interruptions(&self.context, self.stopping);
        loop {
            tokio::select! {
                biased;
                ended = connection.as_mut() => {
                    if let Err(error) = ended {
                        tracing::debug!(error, "connection broke");
                    }
                    return;
                }
                Some(interruption) = interruptions.next() => match interruption {
                    Interruption::FirstCallDue if has_asked.load(Ordering::Relaxed) => {}
                    Interruption::FirstCallDue => return,
                    Interruption::Stopping => connection.as_mut().graceful_shutdown(),
                },
            }
        }
    }
}

/// What ends a connection that goes on by itself.
enum Interruption {
    /// A client has had its time to say what it wants.
    FirstCallDue,
    /// The server is to stop.
    Stopping,
}

/// Each comes once. Unlike the branches of a `select`, they are looked at only when they have something to say.
fn interruptions(
    context: &Shared,
    mut stopping: watch::Receiver<bool>,
) -> FuturesUnordered<BoxFuture<'static, Interruption>> {
    let clock = &context.services.clock;
    // hyper's own time-out begins once the version is known; a client that says too little for that has this one.
    let first_call = clock.sleep_until(after(clock.now(), context.timeouts.header));
    let first_call_due = first_call.map(|()| Interruption::FirstCallDue);
    let asked_to_stop = async move {
        asked_to_stop(&mut stopping).await;
        Interruption::Stopping
    };
    FuturesUnordered::from_iter([first_call_due.boxed(), asked_to_stop.boxed()])
}

/// Ends when the server is to stop, or is gone.
pub(super) async fn asked_to_stop(stopping: &mut watch::Receiver<bool>) {
    let _ = stopping.wait_for(|stopping| *stopping).await;
}

fn builder(header_timeout: Duration) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(header_timeout)
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEADER_BYTES_MAX as usize);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(HEADER_BYTES_MAX)
        .max_concurrent_streams(STREAMS_MAX)
        .keep_alive_interval(PING_AFTER)
        .keep_alive_timeout(PING_TIMEOUT);
    builder
}

/// Takes one trailing slash off the path, notes where the connection comes from, and puts the body under its time-outs.
fn prepare(request: Request<Incoming>, peer: Peer, context: &Shared) -> Request<Body> {
    let (mut parts, body) = request.into_parts();
    if let Some(uri) = without_trailing_slash(&parts.uri) {
        parts.uri = uri;
    }
    parts.extensions.insert(peer);
    let body = Received::body(body, &parts.headers, context);
    Request::from_parts(parts, body)
}

fn without_trailing_slash(uri: &Uri) -> Option<Uri> {
    let path = uri.path().strip_suffix('/').filter(|path| !path.is_empty())?;
    let path_and_query = match uri.query() {
        Some(query) => PathAndQuery::try_from(format!("{path}?{query}")),
        None => PathAndQuery::try_from(path),
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(path_and_query.ok()?);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_trailing_slash_is_taken_off() {
        for (path, expected) in [
            ("/v1/requests/", Some("/v1/requests")),
            ("/v1/requests/?full=1", Some("/v1/requests?full=1")),
            ("/v1/requests//", Some("/v1/requests/")),
            ("/v1/requests", None),
            ("/v1/requests?full=/", None),
            ("/", None),
        ] {
            let uri: Uri = path.parse().expect("a path");
            let stripped = without_trailing_slash(&uri).map(|uri| uri.to_string());
            assert_eq!(stripped.as_deref(), expected, "{path}");
        }
    }
}
