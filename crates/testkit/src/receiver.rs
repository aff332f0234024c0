//! A receiver of webhooks on a real socket. The path decides its answer:
//!
//! - `/status/503…`: always that status.
//! - `/flaky/2…`: 500 to the first two calls of each event, then 204.
//! - `/hang…`: no answer until [`Receiver::let_go`].
//! - `/drip…`: 200 immediately, and an endless body.
//! - `/redirect?to=URL`: 307 to this URL.
//! - anything else: 204.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State as Shared;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream::pending;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::stand::{Server, lock};
use crate::time;

/// A running receiver on its own loopback port. Dropping it stops the receiver.
#[derive(Debug)]
pub struct Receiver {
    state: Arc<State>,
    server: Server,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    pub method: Method,
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// The time of arrival, in milliseconds.
    pub at: i64,
    /// The answer, sent or pending.
    pub answer: StatusCode,
}

#[derive(Debug)]
struct State {
    received: Mutex<Vec<Received>>,
    /// Calls of each event, by its `webhook-id`.
    tries: Mutex<HashMap<String, u32>>,
    gate: watch::Sender<bool>,
}

impl Received {
    /// A header's text, or empty.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    pub fn id(&self) -> &str {
        self.header("webhook-id")
    }
}

impl Receiver {
    /// Starts a receiver on the current tokio runtime; it accepts calls when this returns.
    pub async fn start() -> io::Result<Self> {
        Self::start_at(IpAddr::V4(Ipv4Addr::LOCALHOST)).await
    }

    /// Like [`Self::start`], at an address of this machine.
    pub async fn start_at(ip: IpAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((ip, 0)).await?;
        let state = Arc::new(State {
            received: Mutex::default(),
            tries: Mutex::default(),
            gate: watch::Sender::new(false),
        });
        let router = Router::new().fallback(receive).with_state(Arc::clone(&state));
        Ok(Self { state, server: Server::start(listener, router)? })
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.server.address)
    }

    /// Every call so far, in order of arrival.
    pub fn received(&self) -> Vec<Received> {
        lock(&self.state.received).clone()
    }

    pub fn count(&self) -> usize {
        lock(&self.state.received).len()
    }

    /// Releases hanging calls, also later ones.
    pub fn let_go(&self) {
        self.state.gate.send_replace(true);
    }
}

async fn receive(
    Shared(state): Shared<Arc<State>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let id = headers.get("webhook-id").and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let tries = {
        let mut tries = lock(&state.tries);
        let count = tries.entry(id).or_default();
        *count += 1;
        *count
    };
    let answer = answer(uri.path(), tries);
    let path = uri.path_and_query().map_or_else(String::new, ToString::to_string);
    let received = Received { method, path, headers, body, at: time::unix_ms(), answer };
    lock(&state.received).push(received);
    if uri.path().starts_with("/hang") {
        let _ = state.gate.subscribe().wait_for(|is_open| *is_open).await;
    }
    if uri.path().starts_with("/drip") {
        return Body::from_stream(pending::<io::Result<Bytes>>()).into_response();
    }
    match uri.query().and_then(|query| query.strip_prefix("to=")) {
        Some(to) if answer.is_redirection() => (answer, [(header::LOCATION, to.to_owned())]).into_response(),
        _ => answer.into_response(),
    }
}

fn answer(path: &str, tries: u32) -> StatusCode {
    let number = |rest: &str| -> Option<u32> {
        rest.split(|character: char| !character.is_ascii_digit()).next()?.parse().ok()
    };
    if let Some(status) = path.strip_prefix("/status/").and_then(number) {
        let status = u16::try_from(status).ok().and_then(|status| StatusCode::from_u16(status).ok());
        return status.unwrap_or(StatusCode::BAD_REQUEST);
    }
    match path.strip_prefix("/flaky/").and_then(number) {
        Some(failures) if tries <= failures => StatusCode::INTERNAL_SERVER_ERROR,
        _ if path.starts_with("/redirect") => StatusCode::TEMPORARY_REDIRECT,
        _ => StatusCode::NO_CONTENT,
    }
}
