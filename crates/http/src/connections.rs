//! One connection, HTTP/1.1 or HTTP/2, and its limits.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::uri::PathAndQuery;
use axum::http::{Request, Response, Uri};
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;
use tower::Service as _;

use super::activity::Activity;
use super::bodies::Received;
use super::context::{Context, Peer, Shared, Timeouts, after};
use super::counters;
use super::permits::{IsReserve, Origin};
use super::sending::{Outgoing, Socket, Streams};
use super::tls::{self, Tls};

const HEADERS_MAX: usize = 64;
const HEADER_BYTES_MAX: u32 = 16 << 10;
const STREAMS_MAX: u32 = 100;

/// The window of an HTTP/2 connection for request bodies.
const RECEIVED_BYTES_MAX: u32 = 1 << 20;

/// The unsent bytes of one HTTP/2 response.
const SENT_BYTES_MAX: usize = 128 << 10;

/// The time in which a connection that makes room may send the end of a finished response.
const LEAVE_TIMEOUT_MS: i64 = 2_000;

/// The time for the call of a connection in the reserve.
const RESERVE_TIMEOUT: Duration = Duration::from_secs(2);

/// The minimum interval of checks for idleness, in milliseconds.
const IDLE_LOOK_MS: i64 = 1_000;

/// An HTTP/2 peer that is silent for this time gets a ping.
const PING_AFTER: Duration = Duration::from_secs(30);

/// The time for the answer to a ping.
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// A plain connection, or one with TLS.
type Stream = Either<Socket, Box<TlsStream<Socket>>>;

/// The parameters of a connection.
pub(super) struct Connection {
    pub(super) context: Shared,
    /// Made in `router.rs`: a call passes `calls::handle`, then its handler.
    pub(super) router: Router,
    pub(super) tls: Option<Arc<Tls>>,
    /// Whether the client uses plain HTTP although there is a certificate.
    pub(super) is_in_the_open: bool,
    pub(super) peer: Peer,
    pub(super) origin: Origin,
    pub(super) activity: Arc<Activity>,
    /// Whether only the health paths are served, and one call.
    pub(super) is_reserve: bool,
    pub(super) stopping: watch::Receiver<bool>,
}

impl Connection {
    /// Serves the connection until either side ends it.
    pub(super) async fn run(mut self, stream: TcpStream) {
        let has_asked = Arc::new(AtomicBool::new(false));
        let mut interruptions = interruptions(&self);
        let Some(stream) = self.open(stream, &mut interruptions).await else { return };
        let builder = builder(&self.context, self.is_reserve);
        let service = self.service(&has_asked);
        let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
        let mut is_leaving = false;
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
                    Interruption::Displaced if self.is_reserve => return,
                    Interruption::Displaced if self.activity.has_calls() => {
                        counters::count_cut();
                        return;
                    }
                    Interruption::Displaced => {
                        counters::count_idle_closed("displaced");
                        if self.activity.idle_since().is_some() {
                            return;
                        }
                        connection.as_mut().graceful_shutdown();
                        interruptions.push(self.leave_due());
                    }
                    Interruption::LeaveDue => return,
                    Interruption::Stopping => connection.as_mut().graceful_shutdown(),
                    Interruption::IdleDue if !self.has_idled() => interruptions.push(self.idle_due()),
                    Interruption::IdleDue if is_leaving => return,
                    Interruption::IdleDue => {
                        counters::count_idle_closed("idle");
                        is_leaving = true;
                        connection.as_mut().graceful_shutdown();
                        interruptions.push(self.idle_due());
                    }
                },
            }
        }
    }

    /// Opens it, with TLS if needed; `None` if it ended before.
    async fn open(&mut self, stream: TcpStream, interruptions: &mut Interruptions) -> Option<Stream> {
        let (origin, is_reserve) = (self.origin, self.is_reserve);
        let (clock, timeouts) = (&self.context.services.clock, &self.context.timeouts);
        let tls = self.tls.take();
        let activity = Arc::clone(&self.activity);
        let socket = |stream| Socket::new(stream, clock, timeouts.stalled, activity);
        let Some(tls) = tls else { return Some(Either::Left(socket(stream))) };
        let mut opening = pin!(async move {
            let mut first = [0];
            stream.peek(&mut first).await?;
            match first {
                [tls::FIRST_BYTE] => {
                    tls.accept(socket(stream), origin, is_reserve, clock).await.map(Either::Right)
                }
                _ => Ok(Either::Left(socket(stream))),
            }
        });
        let opened = loop {
            tokio::select! {
                biased;
                opened = opening.as_mut() => break opened,
                Some(interruption) = interruptions.next() => match interruption {
                    Interruption::IdleDue => interruptions.push(self.idle_due()),
                    _ => return None,
                },
            }
        };
        self.is_in_the_open = matches!(opened, Ok(Either::Left(_)));
        opened
            .inspect_err(|error| {
                counters::count_failed_handshake();
                tracing::debug!(%error, "handshake failed");
            })
            .ok()
    }

    fn service(
        &self,
        has_asked: &Arc<AtomicBool>,
    ) -> impl hyper::service::Service<
        Request<Incoming>,
        Response = Response<Outgoing>,
        Error = Infallible,
        Future: Send + 'static,
    > + 'static {
        let (context, router, peer) = (Arc::clone(&self.context), self.router.clone(), self.peer);
        let (activity, is_reserve) = (Arc::clone(&self.activity), self.is_reserve);
        let is_in_the_open = self.is_in_the_open;
        let has_asked = Arc::clone(has_asked);
        service_fn(move |request| {
            has_asked.store(true, Ordering::Relaxed);
            let call = activity.begin(context.dialect_of(request.uri().path()).is_some());
            let mut request = prepare(request, peer, &context, &activity);
            if is_reserve {
                request.extensions_mut().insert(IsReserve);
            }
            if is_in_the_open {
                request.extensions_mut().insert(tls::InTheOpen);
            }
            let answered = call.map(|call| (router.clone().call(request), call));
            async move {
                // A call that arrived too late belongs to a connection that is being closed.
                let Some((answered, call)) = answered else { return std::future::pending().await };
                Ok(Outgoing::response(answered.await?, call))
            }
        })
    }

    /// Whether it has had no call for the allowed time.
    fn has_idled(&self) -> bool {
        let (now, wait) = (self.context.services.clock.now(), self.context.timeouts.idle);
        // A time in the future is from a clock that was set back since.
        self.activity.idle_since().is_some_and(|since| after(since, wait) <= now || since > now)
    }

    /// Returns when the time of a connection that makes room is over.
    fn leave_due(&self) -> BoxFuture<'static, Interruption> {
        let clock = &self.context.services.clock;
        clock.sleep_until(clock.now() + LEAVE_TIMEOUT_MS).map(|()| Interruption::LeaveDue).boxed()
    }

    /// Returns when idleness must be checked.
    fn idle_due(&self) -> BoxFuture<'static, Interruption> {
        let (clock, wait) = (&self.context.services.clock, self.context.timeouts.idle);
        let idle_since = self.activity.idle_since().unwrap_or(clock.now());
        let due = clock.sleep_until(after(idle_since, wait).max(clock.now() + IDLE_LOOK_MS));
        due.map(|()| Interruption::IdleDue).boxed()
    }
}

/// Why a connection must end.
enum Interruption {
    /// The time for the client's first bytes is over.
    FirstCallDue,
    /// It may have been idle for too long.
    IdleDue,
    /// Another connection needs its permit: it begins no more calls, and has no call of an account.
    Displaced,
    /// It was displaced, and its time is over.
    LeaveDue,
    Stopping,
}

/// Unlike branches of a `select`, they are polled only when they are ready.
type Interruptions = FuturesUnordered<BoxFuture<'static, Interruption>>;

fn interruptions(connection: &Connection) -> Interruptions {
    let Connection { context, activity, stopping, .. } = connection;
    let clock = &context.services.clock;
    // hyper's own time-out begins once the version is known; this one is for a client that sends too little for that.
    let first_call = clock.sleep_until(after(clock.now(), context.timeouts.header));
    let first_call_due = first_call.map(|()| Interruption::FirstCallDue);
    let activity = Arc::clone(activity);
    let displaced = async move {
        activity.asked_to_leave().await;
        Interruption::Displaced
    };
    let mut stopping = stopping.clone();
    let asked_to_stop = async move {
        asked_to_stop(&mut stopping).await;
        Interruption::Stopping
    };
    let idle_due = connection.idle_due();
    FuturesUnordered::from_iter([first_call_due.boxed(), idle_due, displaced.boxed(), asked_to_stop.boxed()])
}

/// Returns when the server should stop, or is gone.
pub(super) async fn asked_to_stop(stopping: &mut watch::Receiver<bool>) {
    let _ = stopping.wait_for(|stopping| *stopping).await;
}

fn builder(context: &Context, is_reserve: bool) -> Builder<Streams> {
    let Timeouts { header, idle, stalled, .. } = context.timeouts;
    // hyper counts the time for a head from the end of the previous call. Silent connections are closed by `has_idled`, or for the first
    // call by `FirstCallDue`: a proxy whose connection is closed during its next POST answers 502.
    let head = if is_reserve { header.min(RESERVE_TIMEOUT) } else { idle + header };
    let mut builder = Builder::new(Streams::new(&context.services.clock, stalled));
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(head)
        .keep_alive(!is_reserve)
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEADER_BYTES_MAX as usize);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(HEADER_BYTES_MAX)
        .max_concurrent_streams(STREAMS_MAX)
        .initial_connection_window_size(RECEIVED_BYTES_MAX)
        .initial_stream_window_size(RECEIVED_BYTES_MAX)
        .max_send_buf_size(SENT_BYTES_MAX)
        .keep_alive_interval(PING_AFTER)
        .keep_alive_timeout(PING_TIMEOUT);
    if is_reserve { builder.http1_only() } else { builder }
}

/// Removes one trailing slash of the path, adds the connection's origin, and puts time-outs on the body.
fn prepare(
    request: Request<Incoming>,
    peer: Peer,
    context: &Shared,
    activity: &Arc<Activity>,
) -> Request<Body> {
    let (mut parts, body) = request.into_parts();
    if let Some(uri) = without_trailing_slash(&parts.uri) {
        parts.uri = uri;
    }
    parts.extensions.insert(peer);
    let is_streamed = context.dialect_of(parts.uri.path()).is_some_and(|it| it.streams(parts.uri.path()));
    let body = Received::body(body, &parts.headers, is_streamed, context, activity);
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
