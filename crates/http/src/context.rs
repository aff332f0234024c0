//! The context of all handlers.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderMap;
use overnight_app::Services;
use overnight_app::errors::AppError;
use overnight_config::{ConnectionLimits, ConsoleConfig};
use tokio::sync::watch;

use super::counters;
use super::dialects::Dialect;
use super::feeds::Feeds;
use super::shares::{Buffer, Client, MemoryPermit, Shares};
use super::wrong_keys::WrongKeys;

/// The maximum wait for memory.
const MEMORY_WAIT: Duration = Duration::from_secs(10);

/// The time limits for clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For the head of the first request, from the start of the connection.
    pub header: Duration,
    /// Between two pieces of a body.
    pub body_idle: Duration,
    /// For a whole body.
    pub body_total: Duration,
    /// For a connection without a call, and for the heads of later requests.
    pub idle: Duration,
    /// For a client that accepts no bytes of a response: it is cut off after one to two times this time.
    pub stalled: Duration,
    /// For calls under way when the server stops.
    pub shutdown: Duration,
}

impl Timeouts {
    /// The time-outs of these limits.
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

#[derive(Debug, Clone, Copy)]
pub struct Peer(pub SocketAddr);

pub struct Context {
    pub services: Services,
    pub(super) timeouts: Timeouts,
    pub(super) shares: Shares,
    pub(super) wrong_keys: WrongKeys,
    pub(super) feeds: Feeds,
    /// Whether the server should stop.
    pub(super) stop: watch::Sender<bool>,
    dialects: Vec<Dialect>,
}

impl Context {
    /// The context of a service with these dialects.
    pub(super) fn new(services: Services, timeouts: Timeouts, dialects: Vec<Dialect>) -> Shared {
        let shares = Shares::new(services.config().connections);
        let (wrong_keys, feeds, stop) = (WrongKeys::new(), Feeds::default(), watch::Sender::new(false));
        Arc::new(Self { services, timeouts, shares, wrong_keys, feeds, stop, dialects })
    }

    /// The dialect of a path, whether or not the path exists; `None` if it needs no key.
    pub(super) fn dialect_of(&self, path: &str) -> Option<Dialect> {
        self.dialects.iter().find(|dialect| dialect.has(path)).copied()
    }

    /// Memory for `bytes` of a client, once it is free. Fails with [`AppError::Unavailable`], with the reason `why`, if that takes too
    /// long.
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

pub type Shared = Arc<Context>;

/// The time `wait` after `now`, in milliseconds.
pub(super) fn after(now: i64, wait: Duration) -> i64 {
    now.saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX))
}

/// The address of a caller: named by a trusted proxy, or else the peer of the connection. Each proxy appends an address; entries before an
/// untrusted or malformed one may be forged.
pub fn caller(config: &ConsoleConfig, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
    let lines = headers.get_all("x-forwarded-for").into_iter().map(|line| line.to_str().unwrap_or_default());
    let hops: Vec<&str> = lines.flat_map(|line| line.split(',')).collect();
    let mut address = peer;
    for hop in hops.into_iter().rev() {
        let (true, Some(before)) = (config.trusts(address), address_of(hop.trim())) else {
            break;
        };
        address = before;
    }
    address
}

/// Some proxies also write the port.
fn address_of(hop: &str) -> Option<IpAddr> {
    let bare = hop.strip_prefix('[').and_then(|hop| hop.strip_suffix(']')).unwrap_or(hop);
    bare.parse().ok().or_else(|| hop.parse().ok().map(|address: SocketAddr| address.ip()))
}
