//! What every handler has at hand.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::counters;
use super::dialects::Dialect;
use super::feeds::Feeds;
use super::shares::{Buffer, Client, MemoryPermit, Shares};
use super::wrong_keys::WrongKeys;
use crate::app::Services;
use crate::app::errors::AppError;
use crate::config::ConnectionLimits;

/// So long a call waits for memory.
const MEMORY_WAIT: Duration = Duration::from_secs(10);

/// How long a client may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For the head of the first request, from the moment the connection is made.
    pub header: Duration,
    /// Between two pieces of a body.
    pub body_idle: Duration,
    /// For a whole body.
    pub body_total: Duration,
    /// For a connection without a call, and for the heads of later requests.
    pub idle: Duration,
    /// For a client that takes nothing of a response: it is cut after this time, after twice the time at the latest.
    pub stalled: Duration,
    /// For calls under way when the server is asked to stop.
    pub shutdown: Duration,
}

impl Timeouts {
    /// Those of a service with these limits.
    pub fn new(limits: &ConnectionLimits) -> Self {
        Self {
            header: Duration::from_secs(10),
            body_idle: Duration::from_secs(20),
            body_total: Duration::from_secs(120),
            idle: limits.idle,
            stalled: limits.stalled,
            shutdown: Duration::from_secs(10),
        }
    }
}

/// Where a connection comes from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(pub(super) SocketAddr);

/// What every handler has at hand.
pub(super) struct Context {
    pub(super) services: Services,
    pub(super) timeouts: Timeouts,
    pub(super) shares: Shares,
    pub(super) wrong_keys: WrongKeys,
    pub(super) feeds: Feeds,
    /// Whether the server is to stop.
    pub(super) stop: watch::Sender<bool>,
    /// Every dialect of the API.
    dialects: Vec<Dialect>,
}

impl Context {
    /// The context of a service that speaks these dialects.
    pub(super) fn new(services: Services, timeouts: Timeouts, dialects: Vec<Dialect>) -> Shared {
        let shares = Shares::new(services.config().connections);
        let (wrong_keys, feeds, stop) = (WrongKeys::new(), Feeds::default(), watch::Sender::new(false));
        Arc::new(Self { services, timeouts, shares, wrong_keys, feeds, stop, dialects })
    }

    /// The dialect of the API that a path belongs to, whether anything is served there or not; `None` where no key is needed.
    pub(super) fn dialect_of(&self, path: &str) -> Option<Dialect> {
        self.dialects.iter().find(|dialect| dialect.has(path)).copied()
    }

    /// Memory for `bytes` of a client, once it is free.
    ///
    /// # Errors
    /// [`AppError::Unavailable`], with the reason `why`, where that takes too long.
    pub(super) async fn memory(
        &self,
        buffer: Buffer,
        client: Client,
        bytes: usize,
        why: &str,
    ) -> Result<MemoryPermit, AppError> {
        let clock = &self.services.clock;
        tokio::select! {
            biased;
            memory = self.shares.memory(buffer, client, bytes) => memory.ok_or_else(AppError::stopping),
            () = clock.sleep_until(after(clock.now(), MEMORY_WAIT)) => {
                counters::count_over_share("memory");
                Err(AppError::Unavailable(why.to_owned()))
            }
        }
    }
}

/// The context as handlers share it.
pub(super) type Shared = Arc<Context>;

/// The time `wait` from `now`, in milliseconds.
pub(super) fn after(now: i64, wait: Duration) -> i64 {
    now.saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX))
}
