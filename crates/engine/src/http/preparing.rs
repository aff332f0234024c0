//! Preparing requests in threads, in turns by account. Small requests never wait for requests with a large body or a new form, nor these for each other.

use std::sync::{Arc, Weak};

use axum::http::HeaderMap;
use tokio::task::spawn_blocking;

use super::{Engine, errors::ApiError};
use crate::turns::{Turn, Turns};

/// Names the account of a request, so that accounts take turns at what takes time. Requests without it are of one account.
const ACCOUNT: &str = "overnight-account";
/// Bytes of a body that is prepared with small ones, typically in a few milliseconds.
const SMALL_BYTES: usize = 64 * 1024;
/// Requests that are prepared at a time.
const SMALL_TURNS: usize = 2;
const LARGE_TURNS: usize = 2;
/// New forms that are compiled at a time: a hostile one takes as much of a processor as it can get.
const FORM_TURNS: usize = 1;
/// So many times as long as an expensive form took, its account has no other one compiled.
const FORM_REST: u32 = 4;
/// Threads for all turns.
pub const PREPARING_THREADS: usize = SMALL_TURNS + LARGE_TURNS + FORM_TURNS;

pub(super) struct Preparing {
    small: Arc<Turns>,
    /// Of requests with a large body.
    large: Arc<Turns>,
    /// Of requests with a new form.
    pub(super) forms: Arc<Turns>,
}

impl Default for Preparing {
    fn default() -> Self {
        Self {
            small: Turns::new(SMALL_TURNS, 0),
            large: Turns::new(LARGE_TURNS, 0),
            forms: Turns::new(FORM_TURNS, FORM_REST),
        }
    }
}

impl Preparing {
    /// The turns of work on so many bytes.
    fn turns(&self, bytes: usize) -> &Arc<Turns> {
        if bytes > SMALL_BYTES { &self.large } else { &self.small }
    }
}

pub(super) fn account(headers: &HeaderMap) -> Arc<str> {
    headers.get(ACCOUNT).and_then(|account| account.to_str().ok()).unwrap_or_default().into()
}

/// The client of some work.
pub(super) struct Client(Weak<()>);

impl Client {
    /// Fails if the client has left, and does not wait for the rest.
    pub(super) fn check(&self) -> Result<(), ApiError> {
        if self.0.strong_count() == 0 { Err(ApiError::broken()) } else { Ok(()) }
    }
}

/// Runs `work` on `bytes` that are read or written, in its account's turn. The work ends at its next check of the client when the future is dropped.
pub(super) async fn convert<T: Send + 'static>(
    engine: &Engine,
    account: &Arc<str>,
    bytes: usize,
    work: impl FnOnce(&Client) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    run(engine.preparing.turns(bytes).wait(account).await, work).await
}

/// Runs `work` in a thread, which keeps the turn until it ends.
pub(super) async fn run<T: Send + 'static>(
    turn: Turn,
    work: impl FnOnce(&Client) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let here = Arc::new(());
    let client = Client(Arc::downgrade(&here));
    let working = spawn_blocking(move || {
        let _turn = turn;
        client.check()?;
        work(&client)
    });
    // `here` lives until then, or until the client leaves.
    working.await.map_err(|_| ApiError::broken())?
}
