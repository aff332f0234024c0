//! The whole service in one process: store, engines, scheduler, workers, webhooks and the HTTP API, started in that order and
//! stopped in the opposite one.

use std::net::SocketAddr;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use thiserror::Error;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use crate::app::bootstrap::{self, Bootstrapped};
use crate::app::errors::AppError;
use crate::app::sessions::Link;
use crate::app::{MetricsTokenUnusable, Models, Services, left_behind, store_options};
use crate::clock::{SharedClock, SystemClock};
use crate::config::{Config, Reloaded};
use crate::engines::{EngineClient, EngineUnusable, Engines};
use crate::http::{self, Listeners, Tls, TlsUnusable};
use crate::ids::Ids;
use crate::openid::OpenIdUnusable;
use crate::payment::PaymentUnusable;
use crate::scheduler::{Shell, clear_model_gauges};
use crate::store::nodes;
use crate::store::nodes::hints;
use crate::store::{Store, StoreError};
use crate::traces::TracesUnusable;
use crate::webhooks::{EngineAddresses, Policy, Sender, SystemResolver};
use crate::workers::{self, deliverer::Deliverer};
use crate::{tasks, telemetry};

/// The longest wait for the store to release this node's leases at shutdown.
const RELEASE_TIMEOUT_MS: i64 = 5_000;

/// How often the names of engines are looked up.
const LOOK_UP_EVERY_MS: i64 = 10_000;

/// Why the service did not start, in words for the operator.
#[derive(Debug, Error)]
pub enum ServiceError {
    /// The data folder is served by another process, or cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What the first start makes could not be made.
    #[error(transparent)]
    Bootstrap(#[from] AppError),
    /// An engine cannot be used as configured.
    #[error(transparent)]
    Engine(#[from] EngineUnusable),
    /// Payments cannot be taken as configured.
    #[error(transparent)]
    Payments(#[from] PaymentUnusable),
    /// Nobody can sign in by the OpenID provider as configured.
    #[error(transparent)]
    OpenId(#[from] OpenIdUnusable),
    /// Nobody can read the metrics as configured.
    #[error(transparent)]
    Metrics(#[from] MetricsTokenUnusable),
    /// Traces cannot be sent as configured.
    #[error(transparent)]
    Traces(#[from] TracesUnusable),
    /// The API cannot be served by https as configured.
    #[error(transparent)]
    Tls(#[from] TlsUnusable),
    /// The address is taken, or not this machine's.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
}

/// A service that runs until it is shut down.
pub struct Service {
    services: Services,
    address: SocketAddr,
    bootstrapped: Option<Bootstrapped>,
    sign_in_link: Option<Link>,
    engines: Option<Arc<Engines>>,
    stop_http: watch::Sender<bool>,
    stop_scheduler: watch::Sender<bool>,
    stop_deliverer: watch::Sender<bool>,
    http: JoinHandle<()>,
    scheduler: JoinHandle<()>,
    deliverer: JoinHandle<()>,
    workers: JoinSet<()>,
    stop_traces: watch::Sender<bool>,
    traces: Option<JoinHandle<()>>,
}

impl Service {
    /// Starts everything. Once this returns, the API answers at [`Service::address`].
    ///
    /// # Errors
    /// What could not be opened, made or listened on; the lock is taken first, so a second server touches nothing.
    pub fn start(config: Config) -> BoxFuture<'static, Result<Self, ServiceError>> {
        // Boxed, so that the whole service is compiled here and not as a part of each program that starts it.
        Box::pin(Self::start_all(config))
    }

    async fn start_all(mut config: Config) -> Result<Self, ServiceError> {
        // The scheduler may settle before the first route is there.
        telemetry::install();
        let clock: SharedClock = Arc::new(SystemClock);
        let ids = Arc::new(Ids::from_system());
        let store = Store::open(&store_options(&config), Arc::clone(&clock)).await?;
        if config.metrics_listen.is_none() && !config.serves_metrics_with_api() {
            tracing::info!("/metrics is not served: set `metrics_token_env` or `metrics_listen`");
        }
        let (listeners, address) = listen(&config)?;
        // Where the system chose the port, it is known from here on.
        config.listen = address;
        let config = Arc::new(config);
        let services =
            Services::new(store, Arc::clone(&clock), Arc::clone(&ids), Arc::clone(&config)).await?;
        warn_of_left_behind(&services).await?;
        services.payments.check()?;
        services.metrics_access.check()?;
        let exporter = services.traces.exporter(&config)?;
        services.openid.as_ref().map_or(Ok(()), |provider| provider.check())?;
        let bootstrapped = bootstrap::run(&services).await?;
        let sign_in_link = bootstrap::link_operator(&services).await?;
        let (engines, shell) = match config.role.schedules() {
            true => {
                let engines = Arc::new(Engines::start(&config, &clock, &ids)?);
                engines.look_up_again().await?;
                let shell = Shell::new(services.clone(), Arc::clone(&engines)).await?;
                (Some(engines), Some(shell))
            }
            false => (None, None),
        };
        let mut workers = workers::spawn(&services);
        if let Some(engines) = engines.clone() {
            workers.spawn(follow_names(services.clone(), engines).boxed());
        }
        let sender = sender(&services, &listeners, engines.as_ref());
        let deliverer = Deliverer::new(services.clone(), sender);
        let (stop_http, http_stopped) = watch::channel(false);
        let (stop_scheduler, scheduler_stopped) = watch::channel(false);
        let (stop_deliverer, deliverer_stopped) = watch::channel(false);
        let (stop_traces, traces_stopped) = watch::channel(false);
        let traces = exporter.map(|exporter| tasks::spawn(exporter.run(stopped(traces_stopped))));
        let http = tasks::spawn(http::serve(services.clone(), listeners, stopped(http_stopped)));
        let scheduler = tasks::spawn(schedule(shell, services.clone(), stopped(scheduler_stopped)));
        let deliverer = tasks::spawn(deliverer.run(stopped(deliverer_stopped)));
        Ok(Self {
            services,
            address,
            bootstrapped,
            sign_in_link,
            engines,
            stop_http,
            stop_scheduler,
            stop_deliverer,
            http,
            scheduler,
            deliverer,
            workers,
            stop_traces,
            traces,
        })
    }

    /// Where the API answers.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// What the use cases work on, for a command in the same process.
    pub const fn services(&self) -> &Services {
        &self.services
    }

    /// What the first start made, if this was it.
    pub const fn bootstrapped(&self) -> Option<&Bootstrapped> {
        self.bootstrapped.as_ref()
    }

    /// The link by which the first operator signs in to the console, while nobody has.
    pub const fn sign_in_link(&self) -> Option<&Link> {
        self.sign_in_link.as_ref()
    }

    /// The engines that this process may drive.
    pub fn engines(&self) -> Vec<Arc<EngineClient>> {
        self.engines.as_ref().map_or_else(Vec::new, |engines| engines.list())
    }

    /// From now on the settings are `loaded`, as far as they hold without a restart; see [`reload`].
    ///
    /// # Errors
    /// As [`reload`].
    pub async fn reload(&self, loaded: Config) -> Result<Reloaded, ServiceError> {
        reload(&self.services, self.engines.as_deref(), loaded).await
    }

    /// Lets no new work begin, answers the calls under way, gives what the engines and then the webhooks have in flight the
    /// time that the settings allow, and closes the store. What is not done by then is done by another node, or after the next start.
    pub fn shutdown(self) -> BoxFuture<'static, ()> {
        Box::pin(self.stop_all())
    }

    async fn stop_all(mut self) {
        let Services { clock, signals, .. } = &self.services;
        signals.stop();
        let _ = self.stop_scheduler.send(true);
        clock.sleep_until(clock.now() + self.services.config().linger.0).await;
        let _ = self.stop_http.send(true);
        let _ = self.http.await;
        let _ = self.scheduler.await;
        // Nothing is sent to them any more. They end while the rest does, and before another process can take the data folder.
        let engines = self.engines.take();
        let engines_stopped = tasks::spawn(async move {
            if let Some(engines) = &engines {
                engines.stop().await;
            }
        });
        let _ = self.stop_deliverer.send(true);
        finish(&mut self.deliverer, &self.services).await;
        self.workers.shutdown().await;
        let left = tokio::select! {
            left = release_node(&self.services) => left,
            () = clock.sleep_until(clock.now() + RELEASE_TIMEOUT_MS) => Err(StoreError::Stopped),
        };
        if let Err(error) = left {
            tracing::warn!(%error, "releasing leases at shutdown failed; they are free when they expire, or after the next start");
        }
        let _ = engines_stopped.await;
        // All that could be recorded was.
        let _ = self.stop_traces.send(true);
        if let Some(traces) = self.traces {
            let _ = traces.await;
        }
        self.services.store.close().await;
    }
}

/// Schedules until it is told to stop. A process that drives no engine only hints at its news: the nodes that do ask the
/// store for them.
async fn schedule(shell: Option<Shell>, services: Services, stopped: impl Future<Output = ()>) {
    if let Some(shell) = shell {
        return shell.run(stopped).await;
    }
    tokio::pin!(stopped);
    loop {
        tokio::select! {
            () = &mut stopped => return,
            () = services.signals.rung() => {
                if !services.signals.take().ended.is_empty() {
                    // They ask by themselves soon.
                    let _ = hints::give(&services.store).await;
                }
            }
        }
    }
}

/// Writes what only this process knows, and releases its leases.
async fn release_node(services: &Services) -> Result<(), StoreError> {
    if let Err(error) = workers::key_usage_flusher(services).await {
        tracing::debug!(%error, "last key usage not stored");
    }
    nodes::leave(&services.store).await
}

/// What is under way may take its time, and a store that is away is not waited for much longer.
async fn finish(deliverer: &mut JoinHandle<()>, services: &Services) {
    let clock = &services.clock;
    tokio::select! {
        _ = &mut *deliverer => {}
        () = clock.sleep_until(clock.now() + services.config().drain.0 + RELEASE_TIMEOUT_MS) => {
            deliverer.abort();
            tracing::warn!("store unavailable at shutdown; last webhook outcomes not stored, they are sent again");
        }
    }
}

/// From now on the settings are `loaded`, as far as they hold without a restart ([`Config::reloaded`]); and `engines`, where this process
/// drives any, are those that they name. Engines that are not among them any more finish what they work on. Keys of engines are read
/// again. Returns what has changed.
///
/// # Errors
/// An engine that no waiting will bring up, or what the store could not do. Then everything is as before.
pub async fn reload(
    services: &Services,
    engines: Option<&Engines>,
    loaded: Config,
) -> Result<Reloaded, ServiceError> {
    let reloaded = services.config().reloaded(loaded);
    let config = Arc::new(reloaded.config.clone());
    let models = Models::load(&services.store, &config).await?;
    if let Some(engines) = engines {
        engines.configure(&config.engines).await?;
    }
    let before = services.models();
    services.replace_settings(config, models);
    for gone in before.iter().filter(|model| services.models().get(model.key).is_none()) {
        clear_model_gauges(&gone.config.name);
    }
    // The settings hold already, and the doctor tells it too.
    if let Err(error) = warn_of_left_behind(services).await {
        tracing::warn!(%error, "whether requests wait for models that are configured no more was not found out");
    }
    Ok(reloaded)
}

/// Says for which models that the settings name no more requests wait.
async fn warn_of_left_behind(services: &Services) -> Result<(), StoreError> {
    for (model, waiting) in left_behind(&services.store, &services.config()).await? {
        tracing::warn!(
            model,
            waiting,
            "requests wait for a model that is not configured: they expire unless it gets a [[models]] section, or is an alias of one"
        );
    }
    Ok(())
}

/// Keeps the engines that DNS names those that it names now.
async fn follow_names(services: Services, engines: Arc<Engines>) {
    loop {
        services.clock.sleep_until(services.clock.now() + LOOK_UP_EVERY_MS).await;
        match engines.look_up_again().await {
            Ok(true) => services.signals.engines_changed(),
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "engines stay as they were"),
        }
    }
}

/// Sends webhooks to where they may lead.
fn sender(services: &Services, listeners: &Listeners, engines: Option<&Arc<Engines>>) -> Sender {
    let engine_addresses: EngineAddresses = match engines.cloned() {
        Some(engines) => Arc::new(move || engines.listening()),
        None => Arc::new(Vec::new),
    };
    let (of_now, clock) = (services.clone(), Arc::clone(&services.clock));
    let policy = Policy::new(Arc::new(move || of_now.config()), listeners.addresses(), engine_addresses);
    Sender::new(policy, Arc::new(SystemResolver::new()), clock)
}

fn listen(config: &Config) -> Result<(Listeners, SocketAddr), ServiceError> {
    let failed = |(address, source)| ServiceError::Listen { address, source };
    let listeners = Listeners::bind(config.listen, config.metrics_listen).map_err(failed)?;
    let address = listeners.address().map_err(|source| failed((config.listen, source)))?;
    match &config.tls {
        Some(files) => Ok((listeners.with_tls(Tls::read(files)?), address)),
        None => Ok((listeners, address)),
    }
}

async fn stopped(mut signal: watch::Receiver<bool>) {
    let _ = signal.wait_for(|is_stopping| *is_stopping).await;
}
