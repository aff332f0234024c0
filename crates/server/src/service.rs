//! The whole service in one process: store, engines, scheduler, workers, webhooks and the HTTP API, started in this order and stopped in
//! reverse.

mod stopping;

use std::net::SocketAddr;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use overnight_app::bootstrap::{self, Bootstrapped};
use overnight_app::errors::AppError;
use overnight_app::sessions::Link;
use overnight_app::{
    CertificatesUnusable, MetricsTokenUnusable, Models, Services, check_certificates, clock_checks,
    left_behind, store_options,
};
use overnight_base::clock::{FollowingClock, SharedClock};
use overnight_base::ids::Ids;
use overnight_base::supervision::Failure;
use overnight_base::telemetry;
use overnight_config::{Config, Reloaded};
use overnight_console as console;
use overnight_engine_clients::{EngineClient, EngineNames, EngineUnusable, Engines};
use overnight_http::{self as http, Listeners, Tls, TlsUnusable};
use overnight_outgoing::openid::OpenIdUnusable;
use overnight_outgoing::payment::PaymentUnusable;
use overnight_outgoing::traces::TracesUnusable;
use overnight_outgoing::webhooks::{EngineAddresses, Policy, Sender, SystemResolver};
use overnight_runtime::scheduler::{self, Shell, clear_model_gauges};
use overnight_runtime::workers;
use overnight_runtime::workers::deliverer::{self, Deliverer};
use overnight_store::nodes::hints;
use overnight_store::{Store, StoreError, server_faults};
use thiserror::Error;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use self::stopping::Stopping;

/// The interval at which names of engines are resolved.
const LOOK_UP_EVERY_MS: i64 = 10_000;

/// Why the service did not start, worded for the operator.
#[derive(Debug, Error)]
pub enum ServiceError {
    /// The data folder is used by another process, or cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The first start failed to create its account, key or operator.
    #[error(transparent)]
    Bootstrap(#[from] AppError),
    #[error(transparent)]
    Engine(#[from] EngineUnusable),
    #[error(transparent)]
    Payments(#[from] PaymentUnusable),
    #[error(transparent)]
    OpenId(#[from] OpenIdUnusable),
    /// The metrics token cannot be used as configured.
    #[error(transparent)]
    Metrics(#[from] MetricsTokenUnusable),
    /// The trusted certificates cannot be used.
    #[error(transparent)]
    Certificates(#[from] CertificatesUnusable),
    #[error(transparent)]
    Traces(#[from] TracesUnusable),
    /// The API cannot be served by https as configured.
    #[error(transparent)]
    Tls(#[from] TlsUnusable),
    /// The address is in use, or not this machine's.
    #[error("cannot listen on {address}: {source}")]
    Listen { address: SocketAddr, source: std::io::Error },
}

/// A service that runs until it is shut down.
pub struct Service {
    /// First, so that loops of a dropped service do not end unexpectedly.
    _stopping: Stopping,
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
    /// Starts everything. Once this returns, the API answers at [`Service::address`]. The lock is taken first, so a second server changes
    /// nothing.
    pub fn start(config: Config) -> BoxFuture<'static, Result<Self, ServiceError>> {
        // Boxed, so that the service is compiled here and not in each program that starts it.
        Box::pin(Self::start_all(config))
    }

    async fn start_all(mut config: Config) -> Result<Self, ServiceError> {
        // The scheduler may settle before the first route exists.
        telemetry::install();
        let clock: SharedClock = Arc::new(FollowingClock::of_machine());
        let ids = Arc::new(Ids::from_system());
        let store = Store::open(&store_options(&config), Arc::clone(&clock)).await?;
        warn_of_server(&store).await?;
        if config.metrics_listen.is_none() && !config.serves_metrics_with_api() {
            tracing::info!("/metrics is not served: set `metrics_token_env` or `metrics_listen`");
        }
        let (listeners, address) = listen(&config)?;
        config.listen = address;
        let config = Arc::new(config);
        let services =
            Services::new(store, Arc::clone(&clock), Arc::clone(&ids), Arc::clone(&config)).await?;
        clock_checks::at_start(&services).await?;
        warn_of_left_behind(&services).await?;
        services.payments.check()?;
        services.metrics_access.check()?;
        check_certificates(&config.outgoing)?;
        let exporter = services.traces.exporter(&config)?;
        services.openid.as_ref().map_or(Ok(()), |provider| provider.check())?;
        let bootstrapped = bootstrap::run(&services).await?;
        let sign_in_link = bootstrap::link_operator(&services).await?;
        let (engines, shell) = start_engines(&services).await?.unzip();
        let supervisor = Arc::clone(&services.supervisor);
        let mut workers = workers::spawn(&services);
        if let Some(engines) = engines.clone() {
            workers.spawn(supervisor.watch("engine_names", follow_names(services.clone(), engines)));
        }
        let names = Arc::new(EngineNames::new(&clock));
        if engines.is_none() {
            workers
                .spawn(supervisor.watch("engine_names", look_up_names(services.clone(), Arc::clone(&names))));
        }
        let sender = sender(&services, &listeners, engines.as_ref(), names);
        let deliverer = Deliverer::new(services.clone(), sender);
        let (stop_http, http_stopped) = watch::channel(false);
        let (stop_scheduler, scheduler_stopped) = watch::channel(false);
        let (stop_deliverer, deliverer_stopped) = watch::channel(false);
        let (stop_traces, traces_stopped) = watch::channel(false);
        let traces =
            exporter.map(|exporter| supervisor.spawn("traces", exporter.run(stopped(traces_stopped))));
        let serving = http::serve(services.clone(), console::routes, listeners, stopped(http_stopped));
        let http = supervisor.spawn("http", serving);
        let scheduler =
            supervisor.spawn(scheduler::NAME, schedule(shell, services.clone(), stopped(scheduler_stopped)));
        let deliverer = supervisor.spawn(deliverer::NAME, deliverer.run(stopped(deliverer_stopped)));
        supervisor.start_watchdog(clock);
        Ok(Self {
            _stopping: Stopping(supervisor),
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

    /// The address of the API.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The services, for a command in the same process.
    pub const fn services(&self) -> &Services {
        &self.services
    }

    /// The account and key that the first start created, if this was it.
    pub const fn bootstrapped(&self) -> Option<&Bootstrapped> {
        self.bootstrapped.as_ref()
    }

    /// The first operator's sign-in link, until it was used.
    pub const fn sign_in_link(&self) -> Option<&Link> {
        self.sign_in_link.as_ref()
    }

    /// The engines that this process may drive.
    pub fn engines(&self) -> Vec<Arc<EngineClient>> {
        self.engines.as_ref().map_or_else(Vec::new, |engines| engines.list())
    }

    /// Applies the settings `loaded` as far as possible without a restart; see [`reload`].
    pub async fn reload(&self, loaded: Config) -> Result<Reloaded, ServiceError> {
        reload(&self.services, self.engines.as_deref(), loaded).await
    }

    /// Returns when a loop of the service has failed. The service does not work any more: shut it down and start another.
    pub async fn failed(&self) -> Failure {
        self.services.supervisor.failed().await
    }

    /// Starts no new work, answers the calls under way, gives engines and then webhooks the configured time, and closes the store.
    /// Unfinished work is done by another node, or after the next start. If the service has failed, each part gets a few seconds at most.
    pub fn shutdown(self) -> BoxFuture<'static, ()> {
        Box::pin(self.stop_all())
    }
}

/// The engines and the scheduler's shell, if this process schedules.
async fn start_engines(services: &Services) -> Result<Option<(Arc<Engines>, Shell)>, ServiceError> {
    let config = services.config();
    if !config.role.schedules() {
        return Ok(None);
    }
    let engines =
        Arc::new(Engines::start_supervised(&config, &services.clock, &services.ids, &services.supervisor)?);
    engines.look_up_again().await?;
    let shell = Shell::new(services.clone(), Arc::clone(&engines)).await?;
    Ok(Some((engines, shell)))
}

/// Schedules until it is stopped. A process that drives no engine only hints at its news: nodes with engines read the store.
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
                    // Without a hint they soon look by themselves.
                    let _ = hints::give(&services.store).await;
                }
            }
        }
    }
}

/// Applies the settings `loaded` as far as possible without a restart ([`Config::reloaded`]), with the engines that they name if this
/// process drives any. Removed engines finish their work. Keys of engines are read again. Returns the changes. Fails, without effect, if an
/// engine can never work as configured.
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
    // The settings are in effect already, and `doctor` reports this too.
    if let Err(error) = warn_of_left_behind(services).await {
        tracing::warn!(%error, "whether requests wait for models that are configured no more was not found out");
    }
    Ok(reloaded)
}

/// Logs models that are no longer configured but have waiting requests.
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

/// Updates engines that are configured by DNS name.
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

/// The same in a process that drives no engines, whose webhooks must not reach them.
async fn look_up_names(services: Services, names: Arc<EngineNames>) {
    loop {
        names.look_up_again(&services.config().engines).await;
        services.clock.sleep_until(services.clock.now() + LOOK_UP_EVERY_MS).await;
    }
}

/// The webhook sender, with its permitted destinations.
fn sender(
    services: &Services,
    listeners: &Listeners,
    engines: Option<&Arc<Engines>>,
    names: Arc<EngineNames>,
) -> Sender {
    let engine_addresses: EngineAddresses = match engines.cloned() {
        Some(engines) => Arc::new(move || engines.addresses()),
        None => Arc::new(move || names.addresses()),
    };
    let (of_now, clock) = (services.clone(), Arc::clone(&services.clock));
    let policy = Policy::new(Arc::new(move || of_now.config()), listeners.addresses(), engine_addresses);
    let sender = Sender::new(policy, Arc::new(SystemResolver::new()), clock);
    sender.trusting(services.config().outgoing.ca_files.clone())
}

async fn warn_of_server(store: &Store) -> Result<(), StoreError> {
    for fault in server_faults(store).await? {
        tracing::warn!("{}; {}", fault.what, fault.advice);
    }
    Ok(())
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

#[cfg(test)]
mod tests;
