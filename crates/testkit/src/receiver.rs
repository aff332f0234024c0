//! Somebody who receives webhooks, at the far side of a real socket. What it answers stands in the path:
//!
//! - `/status/503…`: always that status.
//! - `/flaky/2…`: 500 to the first so many tries of each event, then 204.
//! - `/hang…`: nothing, until it is let go.
//! - `/drip…`: 200 at once, and a body without end.
//! - `/redirect?to=URL`: 307 to there.
//! - anything else: 204.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State as Shared;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream::pending;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::time;

/// A running receiver on a port of its own. Dropped, it stops.
#[derive(Debug)]
pub struct Receiver {
    state: Arc<State>,
    address: SocketAddr,
    server: JoinHandle<()>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    pub method: Method,
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// When it came, in milliseconds.
    pub at: i64,
    /// What it was answered, or is to be.
    pub answer: StatusCode,
}

#[derive(Debug)]
struct State {
    received: Mutex<Vec<Received>>,
    /// How often each event was tried, by its `webhook-id`.
    tries: Mutex<HashMap<String, u32>>,
    gate: watch::Sender<bool>,
}

impl Received {
    /// A header's text; empty where there is none.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    pub fn id(&self) -> &str {
        self.header("webhook-id")
    }
}

impl Receiver {
    /// Starts it on the current tokio runtime; it takes calls when this returns.
    ///
    /// # Errors
    /// No loopback port could be listened on.
    pub async fn start() -> io::Result<Self> {
        Self::start_at(IpAddr::V4(Ipv4Addr::LOCALHOST)).await
    }

    /// The same at an address of this machine.
    ///
    /// # Errors
    /// No port of it could be listened on.
    pub async fn start_at(ip: IpAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((ip, 0)).await?;
        let address = listener.local_addr()?;
        let state = Arc::new(State {
            received: Mutex::default(),
            tries: Mutex::default(),
            gate: watch::Sender::new(false),
        });
        let router = Router::new().fallback(receive).with_state(Arc::clone(&state));
        let server = tokio::spawn(async move {
            // It ends with the test that started it.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { state, address, server })
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Every call so far, in the order in which they came.
    pub fn received(&self) -> Vec<Received> {
        lock(&self.state.received).clone()
    }

    pub fn count(&self) -> usize {
        lock(&self.state.received).len()
    }

    /// Lets go of what hangs, from now on.
    pub fn let_go(&self) {
        self.state.gate.send_replace(true);
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.server.abort();
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

/// A panic of one test's thread must not hide in the poison of another's.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
