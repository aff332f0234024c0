//! Serving: connections are accepted (`permits.rs` decides their class), and closed gracefully when the service stops.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use futures_util::FutureExt;
use overnight_app::{ClientNetwork, Services};
use overnight_base::log_lines::Throttle;
use overnight_base::telemetry;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::activity::Activity;
use super::connections::{Connection, asked_to_stop};
use super::context::{Peer, Shared, Timeouts, after};
use super::permits::{ConnectionPermits, Origin};
use super::tls::Tls;
use super::{Pages, counters, metrics, router};

/// The pause after a failed accept (too many open files).
const ACCEPT_PAUSE_MS: i64 = 100;

/// The interval at which measurements are folded.
const UPKEEP_MS: i64 = 5_000;

/// Connections at the metrics address.
const METRICS_CONNECTIONS_MAX: usize = 64;

/// The accept queue: longer than the connections that one address may open, so that first packets of others are not dropped and repeated a
/// second later. The system may allow fewer (Linux: `net.core.somaxconn`, 4,096 by default).
const WAITING_CONNECTIONS_MAX: u32 = 4_096;

/// The listening sockets of the service.
pub struct Listeners {
    api: TcpListener,
    metrics: Option<TcpListener>,
    tls: Option<Arc<Tls>>,
}

impl Listeners {
    /// Listens for the API at `api`, and for the metrics at `metrics` if they have a separate address. Must be called within a runtime.
    /// Fails with the address that cannot be used.
    pub fn bind(api: SocketAddr, metrics: Option<SocketAddr>) -> Result<Self, (SocketAddr, io::Error)> {
        let metrics = match metrics {
            Some(address) => Some(bind(address)?),
            None => None,
        };
        Ok(Self { api: bind(api)?, metrics, tls: None })
    }

    /// Serves the API by https.
    #[must_use]
    pub fn with_tls(self, tls: Tls) -> Self {
        Self { tls: Some(Arc::new(tls)), ..self }
    }

    /// The address of the API.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.api.local_addr()
    }

    pub fn addresses(&self) -> Vec<SocketAddr> {
        let listeners = std::iter::once(&self.api).chain(&self.metrics);
        listeners.filter_map(|listener| listener.local_addr().ok()).collect()
    }
}

fn bind(address: SocketAddr) -> Result<TcpListener, (SocketAddr, io::Error)> {
    let listen = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        // After a restart the port is free even if old connections are still closing.
        #[cfg(unix)]
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(WAITING_CONNECTIONS_MAX)
    };
    listen().map_err(|error| (address, error))
}

/// Serves the API, and the metrics if they have a separate address, until `shutdown` ends; then calls under way get time to end.
pub async fn serve(
    services: Services,
    pages: Pages,
    listeners: Listeners,
    shutdown: impl Future<Output = ()> + Send,
) {
    let timeouts = Timeouts::new(&services.config().connections);
    serve_with(services, pages, listeners, shutdown, timeouts).await;
}

/// Like [`serve`], with other time-outs.
pub async fn serve_with(
    services: Services,
    pages: Pages,
    listeners: Listeners,
    shutdown: impl Future<Output = ()> + Send,
    timeouts: Timeouts,
) {
    counters::begin_gauges();
    let context = router::context(services, timeouts);
    let stopping = context.stop.subscribe();
    let supervisor = Arc::clone(&context.services.supervisor);
    let is_over = |stop: &watch::Receiver<bool>| {
        let stop = stop.clone();
        move || *stop.borrow()
    };
    let mut servers = JoinSet::new();
    if let Some(listener) = listeners.metrics {
        // With separate shares: calls of an address at `listen` do not keep out its probes.
        let context = router::context(context.services.clone(), timeouts);
        let router = router::assemble_metrics(Arc::clone(&context));
        let server = Server::new(&context, router, None, METRICS_CONNECTIONS_MAX, stopping.clone());
        servers.spawn(
            supervisor.watch_until("metrics_listener", server.run(listener), is_over(&stopping)).boxed(),
        );
    }
    let mut upkeep = JoinSet::new();
    if let Some(tls) = &listeners.tls {
        let (tls, clock) = (Arc::clone(tls), Arc::clone(&context.services.clock));
        upkeep.spawn(supervisor.watch("certificate", async move { tls.keep_current(&clock).await }));
    }
    let router = router::assemble(Arc::clone(&context), pages);
    let server = Server::new(
        &context,
        router,
        listeners.tls,
        context.services.config().connections.max,
        stopping.clone(),
    );
    servers.spawn(supervisor.watch_until("listener", server.run(listeners.api), is_over(&stopping)).boxed());
    upkeep.spawn(supervisor.watch("metrics_upkeep", keep_up(Arc::clone(&context))));
    shutdown.await;
    context.stop.send_replace(true);
    while servers.join_next().await.is_some() {}
}

async fn keep_up(context: Shared) {
    let clock = &context.services.clock;
    loop {
        clock.sleep_until(clock.now() + UPKEEP_MS).await;
        telemetry::tidy_up();
    }
}

struct Server {
    context: Shared,
    router: Router,
    tls: Option<Arc<Tls>>,
    permits: Arc<ConnectionPermits>,
    stopping: watch::Receiver<bool>,
    connections: JoinSet<()>,
}

impl Server {
    fn new(
        context: &Shared,
        router: Router,
        tls: Option<Arc<Tls>>,
        connections_max: usize,
        stopping: watch::Receiver<bool>,
    ) -> Self {
        let permits =
            ConnectionPermits::new(connections_max, context.services.config().connections.per_address);
        Self { context: Arc::clone(context), router, tls, permits, stopping, connections: JoinSet::new() }
    }

    async fn run(mut self, listener: TcpListener) {
        let mut stopping = self.stopping.clone();
        // Without file descriptors it fails ten times a second until there are some.
        let failures = Throttle::default();
        loop {
            tokio::select! {
                () = asked_to_stop(&mut stopping) => break,
                Some(_) = self.connections.join_next() => {}
                accepted = listener.accept() => match accepted {
                    Ok((stream, peer)) => self.begin(stream, peer),
                    Err(error) => {
                        let clock = &self.context.services.clock;
                        if let Some(kept_back) = failures.pass(clock.now()) {
                            tracing::warn!(%error, kept_back, "accepting a connection failed");
                        }
                        clock.sleep_until(clock.now() + ACCEPT_PAUSE_MS).await;
                    }
                },
            }
        }
        drop(listener);
        let clock = Arc::clone(&self.context.services.clock);
        let ends_at = after(clock.now(), self.context.timeouts.shutdown);
        tokio::select! {
            () = clock.sleep_until(ends_at) => {}
            () = async { while self.connections.join_next().await.is_some() {} } => {}
        }
    }

    fn begin(&mut self, stream: TcpStream, peer: SocketAddr) {
        let activity = Activity::new(&self.context.services.clock);
        let is_proxy = self.context.services.config().console.trusts(peer.ip());
        let origin = Origin { network: ClientNetwork::of(peer.ip()), is_proxy };
        let permit = self.permits.take(origin, &activity);
        let connection = Connection {
            context: Arc::clone(&self.context),
            router: self.router.clone(),
            tls: self.tls.clone(),
            is_in_the_open: false,
            peer: Peer(peer),
            origin,
            activity,
            is_reserve: permit.is_reserve,
            stopping: self.stopping.clone(),
        };
        let supervisor = Arc::clone(&self.context.services.supervisor);
        self.connections.spawn(async move {
            let _counted = metrics::ConnectionCounter::open();
            _ = supervisor.call("connection", peer.ip(), connection.run(stream)).await;
            drop(permit);
        });
    }
}
