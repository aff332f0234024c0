//! Outgoing HTTP/1.1 over pooled connections, plain or under TLS, through a proxy if configured. Redirects are returned as answers.

mod answer;
mod decoding;
mod proxies;
pub mod retry_after;
pub mod trust;
mod words;

use std::error::Error;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::PROXY_AUTHORIZATION;
use hyper::{Request, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::client::legacy::{Client, ResponseFuture};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use overnight_base::clock::SharedClock;
use overnight_config::{OutgoingConfig, ProxyUse};
use tower::Service;

pub use answer::{Unread, read_start, read_whole};
pub use decoding::{Undecoded, decode};
use proxies::Connector;
pub use proxies::Proxies;
pub use words::{in_words, printable};

pub const AGENT: &str = concat!("overnight/", env!("CARGO_PKG_VERSION"));

/// Python's servers close an idle connection after 5 s; a connection that closes during use costs an attempt.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// TCP checks idle connections after this time: an answer may take minutes to begin.
const KEEPALIVE: Duration = Duration::from_secs(30);

type Plain = Client<Timed<Connector>, Full<Bytes>>;
type Secure = Client<Timed<HttpsConnector<Connector>>, Full<Bytes>>;
type BoxError = Box<dyn Error + Send + Sync>;

pub struct Transport(Pool);

enum Pool {
    Plain(Plain, Proxies),
    Secure(Secure),
}

impl Transport {
    /// For URLs of a scheme, `http` or `https`. Fails if a certificate file is unusable or this machine has no authorities.
    pub fn open(
        scheme: &str,
        outgoing: &OutgoingConfig,
        clock: SharedClock,
        connect_timeout_ms: i64,
    ) -> io::Result<Self> {
        let connector = Connector { tcp: tcp(), proxies: Proxies::new(&outgoing.proxy) };
        let limit_ms = connect_timeout_ms;
        if scheme != "https" {
            // Unused without TLS, but an unusable file is still a mistake.
            trust::read(&outgoing.ca_files)?;
            let proxies = connector.proxies.clone();
            return Ok(Self(Pool::Plain(pool(Timed { inner: connector, clock, limit_ms }), proxies)));
        }
        let inner = HttpsConnectorBuilder::new()
            .with_tls_config(trust::client_config(&outgoing.ca_files)?)
            .https_only()
            .enable_http1()
            .wrap_connector(connector);
        Ok(Self(Pool::Secure(pool(Timed { inner, clock, limit_ms }))))
    }

    /// For `http://` on this machine.
    pub fn local(clock: SharedClock, limit_ms: i64) -> Self {
        let proxies = Proxies::new(&ProxyUse::Direct);
        let connector = Connector { tcp: tcp(), proxies: proxies.clone() };
        Self(Pool::Plain(pool(Timed { inner: connector, clock, limit_ms }), proxies))
    }

    /// Sends a request and waits for the head of its answer. If dropped, the connection is closed.
    pub fn send(&self, mut request: Request<Full<Bytes>>) -> ResponseFuture {
        match &self.0 {
            Pool::Plain(client, proxies) => {
                if let Some(password) = proxies.password(request.uri()) {
                    request.headers_mut().insert(PROXY_AUTHORIZATION, password);
                }
                client.request(request)
            }
            Pool::Secure(client) => client.request(request),
        }
    }
}

fn tcp() -> HttpConnector {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    connector.set_keepalive(Some(KEEPALIVE));
    connector.enforce_http(false);
    connector
}

fn pool<C: Connect + Clone>(connector: C) -> Client<C, Full<Bytes>> {
    Client::builder(TokioExecutor::new())
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_timer(TokioTimer::new())
        .build(connector)
}

/// A connector with one time limit for name, TCP and TLS.
#[derive(Clone)]
struct Timed<C> {
    inner: C,
    clock: SharedClock,
    limit_ms: i64,
}

impl<C> Service<Uri> for Timed<C>
where
    C: Service<Uri>,
    C::Error: Into<BoxError>,
    C::Future: Send + 'static,
    C::Response: Send,
{
    type Response = C::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<C::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connect = self.inner.call(uri);
        let limit_ms = self.limit_ms;
        let too_late = self.clock.sleep_until(self.clock.now().saturating_add(limit_ms));
        Box::pin(async move {
            tokio::select! {
                connected = connect => connected.map_err(Into::into),
                () = too_late => {
                    let what = format!("no connection within {limit_ms} ms");
                    Err(io::Error::new(io::ErrorKind::TimedOut, what).into())
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use overnight_base::clock::HurriedClock;

    use super::*;

    #[tokio::test]
    async fn connecting_is_given_up_in_time() {
        let inner = tower::service_fn(|_: Uri| std::future::pending::<Result<(), BoxError>>());
        let mut connector = Timed { inner, clock: std::sync::Arc::new(HurriedClock), limit_ms: 3 };
        let error = connector.call(Uri::from_static("http://h")).await.unwrap_err();
        assert_eq!(error.to_string(), "no connection within 3 ms");
    }
}
