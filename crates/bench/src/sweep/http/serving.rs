//! Nodes of the service, and their progress.

use std::io;
use std::time::{Duration, Instant};

use crate::clock;
use crate::download::Connection;
use crate::service::{Service, Site};

/// The time limit in which nodes must share the engines.
const SHARING_MAX: Duration = Duration::from_secs(60);
const POLL_MS: u64 = 20;
/// A stall of the service for this long fails the benchmark.
const STALL_MAX: Duration = Duration::from_secs(120);
const DRIVEN: &str = "overnight_engine_driven";
const COMPLETED: &str = "overnight_requests_ended_total{outcome=\"completed\"}";
const ATTEMPTS_FAILED: &str = "overnight_attempts_failed_total";

/// A node, and a connection for its figures.
pub(super) struct Node {
    pub(super) service: Service,
    connection: Connection,
}

impl Node {
    pub(super) async fn start(site: &Site) -> io::Result<Self> {
        let service = site.serve().await?;
        let connection = Connection::open(service.address, &service.key).await?;
        Ok(Self { service, connection })
    }

    /// Reconnects, because the service closes idle connections.
    pub(super) async fn reconnect(&mut self) -> io::Result<()> {
        self.connection = Connection::open(self.service.address, &self.service.key).await?;
        Ok(())
    }

    async fn count(&mut self, name: &str) -> io::Result<usize> {
        self.service.counter(&mut self.connection, name).await
    }
}

/// Waits until every engine is driven, and no node drives more than its share.
pub(super) async fn wait_for_shares(nodes: &mut [Node], engines: usize) -> io::Result<()> {
    let (began_at, share) = (clock::now(), engines.div_ceil(nodes.len()) as f64);
    loop {
        let (mut sum, mut most) = (0.0, 0.0_f64);
        for Node { service, connection } in nodes.iter_mut() {
            let driven = service.gauge(connection, DRIVEN).await?;
            (sum, most) = (sum + driven, most.max(driven));
        }
        if sum >= engines as f64 && most <= share {
            return Ok(());
        }
        if began_at.elapsed() > SHARING_MAX {
            return Err(io::Error::other(format!(
                "{sum} of {engines} engines are driven, {most} by one node"
            )));
        }
        clock::sleep_ms(POLL_MS).await;
    }
}

/// Waits until the last request is completed, and returns that time.
pub(super) async fn wait_for_ends(nodes: &mut [Node], requests: usize) -> io::Result<Instant> {
    let (mut seen, mut moved_at) = (0, clock::now());
    loop {
        let mut completed = 0;
        for node in nodes.iter_mut() {
            completed += node.count(COMPLETED).await?;
        }
        let now = clock::now();
        if completed >= requests {
            return Ok(now);
        }
        if completed > seen {
            (seen, moved_at) = (completed, now);
        } else if now - moved_at > STALL_MAX {
            let mut failed = 0;
            for node in nodes.iter_mut() {
                failed += node.count(ATTEMPTS_FAILED).await?;
            }
            let stalled =
                format!("the service stalled at {seen} of {requests} requests, {failed} attempts failed");
            return Err(io::Error::other(stalled));
        }
        clock::sleep_ms(POLL_MS).await;
    }
}
