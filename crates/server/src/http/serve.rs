//! Serving: every connection is accepted (`permits.rs` says as what), and let go in peace when it is time to stop.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use futures_util::FutureExt;
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
use super::{counters, metrics, router};
use crate::app::{ClientNetwork, Services};

/// After a failed accept (too many open files) this long passes before the next.
const ACCEPT_PAUSE_MS: i64 = 100;

/// How often measurements are folded.
const UPKEEP_MS: i64 = 5_000;

/// Connections that may read the figures at an address of their own.
const METRICS_CONNECTIONS_MAX: usize = 64;

/// Connections that wait to be accepted: more than one address opens at once, so that nobody else's first packet is dropped and sent
/// again a second later. The system may allow fewer (Linux: `net.core.somaxconn`, 4,096 by default).
const WAITING_CONNECTIONS_MAX: u32 = 4_096;

/// Where the service is called.
pub struct Listeners {
    api: TcpListener,
    metrics: Option<TcpListener>,
    tls: Option<Arc<Tls>>,
}

impl Listeners {
    /// Listens for the API at `api`, and for the figures at `metrics` where they have an address of their own. It is called within a
    /// runtime.
    ///
    /// # Errors
    ///
    /// The address that cannot be listened on, and why.
    pub fn bind(api: SocketAddr, metrics: Option<SocketAddr>) -> Result<Self, (SocketAddr, io::Error)> {
        let metrics = match metrics {
            Some(address) => Some(bind(address)?),
            None => None,
        };
        Ok(Self { api: bind(api)?, metrics, tls: None })
    }

    /// The API is served by https.
    #[must_use]
    pub fn with_tls(self, tls: Tls) -> Self {
        Self { tls: Some(Arc::new(tls)), ..self }
    }

    /// Where the API is called.
    ///
    /// # Errors
    ///
    /// What the system says of the socket.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.api.local_addr()
    }

    /// Every address that it listens at.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        let listeners = std::iter::once(&self.api).chain(&self.metrics);
        listeners.filter_map(|listener| listener.local_addr().ok()).collect()
    }
}

fn bind(address: SocketAddr) -> Result<TcpListener, (SocketAddr, io::Error)> {
    let listen = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        // A restart finds the port free, though connections of the process before are still closing.
        #[cfg(unix)]
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(WAITING_CONNECTIONS_MAX)
    };
    listen().map_err(|error| (address, error))
}

/// Serves the API, and the figures where they have an address of their own, until `shutdown` ends; then calls under
/// way are given time to end.
pub async fn serve(services: Services, listeners: Listeners, shutdown: impl Future<Output = ()> + Send) {
    let timeouts = Timeouts::new(&services.config().connections);
    serve_with(services, listeners, shutdown, timeouts).await;
}

/// As [`serve`], with other time-outs.
pub async fn serve_with(
    services: Services,
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
        // With shares of its own: the calls of an address at `listen` keep no probe out that has the same.
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
    let router = router::assemble(Arc::clone(&context));
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
        // Without file descriptors it fails ten times a second, for as long as that lasts.
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
