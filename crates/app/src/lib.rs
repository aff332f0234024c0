//! The use cases of clients and operators. They know the store, and nothing of HTTP.

pub mod accounts;
pub mod administration;
pub mod api_keys;
pub mod audit_log;
pub mod batches;
pub mod bootstrap;
mod certificates;
pub mod clock_checks;
pub mod closing;
pub mod engines;
pub mod errors;
pub mod failures;
pub mod file_batches;
pub mod files;
pub mod forecasts;
pub mod idempotency;
mod input;
mod live_count_cache;
pub mod messages;
mod metrics_access;
mod names;
mod networks;
pub mod pages;
mod parsing;
pub mod payments;
pub mod requests;
pub mod sessions;
mod settings;
mod signals;
pub mod snapshot;
pub mod submissions;
pub mod uploads;
pub mod usage;
pub mod users;
pub mod webhooks;
pub mod write_retry;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::task::JoinHandle;
use tracing::Instrument;

use self::api_keys::ApiKeyCache;
pub use self::certificates::{CertificatesUnusable, check_certificates};
use self::engines::history::EngineHistory;
use self::errors::AppError;
pub use self::input::SEARCH_CHARS_MAX;
pub use self::live_count_cache::LiveCountCache;
pub use self::metrics_access::{MetricsAccess, MetricsTokenUnusable};
pub use self::names::NAME_CHARS_MAX;
pub use self::networks::ClientNetwork;
pub use self::parsing::{Parsers, parse};
pub use self::requests::AwaitedEnds;
use self::requests::fifo_baselines::FifoBaselines;
pub use self::requests::rate_limits::{RateLimits, RateStanding};
pub use self::sessions::passwords::{PASSWORD_CHARS_MIN, Passwords};
pub use self::settings::{Model, Models, Settings, left_behind};
pub use self::signals::{HEARD_EVERY_MS, News, Signals, SweepQuestion, SweepState};
use overnight_base::clock::SharedClock;
use overnight_base::ids::Ids;
use overnight_base::supervision::Supervisor;
use overnight_base::tasks;
use overnight_config::{ByteSize, Config, Database, ObjectStoreConfig, OutgoingConfig, ProxyUse};
use overnight_outgoing::openid::OpenId;
use overnight_outgoing::payment::{self, PaymentProvider};
use overnight_outgoing::traces::{self, Traces};
use overnight_store::object_store::ObjectStoreOptions;
pub use overnight_store::{Actor, ActorId, ReadsFor};
use overnight_store::{ServerFiles, Store, StoreError, StoreOptions};

/// The maximum of [`Services::drain_ms`] if the process ends because a loop failed.
const FAILED_DRAIN_MS: i64 = 2_000;

/// Shared by all use cases and workers; cloning is cheap.
#[derive(Clone)]
pub struct Services {
    pub store: Store,
    pub clock: SharedClock,
    pub ids: Arc<Ids>,
    /// The settings as last loaded, and their models.
    pub settings: Arc<Settings>,
    pub signals: Arc<Signals>,
    pub payments: Arc<dyn PaymentProvider>,
    /// The OpenID provider, if there is one.
    pub openid: Option<Arc<OpenId>>,
    pub metrics_access: Arc<MetricsAccess>,
    pub api_key_cache: Arc<ApiKeyCache>,
    /// Parses long texts.
    pub parsers: Arc<Parsers>,
    /// Limits the requests that accounts create per second.
    pub rate_limits: Arc<RateLimits>,
    /// Makes and compares the hashes of passwords.
    pub passwords: Arc<Passwords>,
    pub live_counts: Arc<LiveCountCache>,
    /// Estimates what prefix caches would hold in order of arrival.
    pub fifo_baselines: Arc<FifoBaselines>,
    /// Recent throughput of engines.
    pub engine_history: Arc<EngineHistory>,
    /// Wakes the calls that wait for the ends of requests.
    pub awaited_ends: Arc<AwaitedEnds>,
    pub traces: Arc<Traces>,
    /// Owns the loops of this process.
    pub supervisor: Arc<Supervisor>,
    /// In milliseconds.
    pub started_at: i64,
}

impl Services {
    /// Combines the parts over an open store. Each configured model gets its row.
    pub fn new(
        store: Store,
        clock: SharedClock,
        ids: Arc<Ids>,
        config: Arc<Config>,
    ) -> BoxFuture<'static, Result<Self, StoreError>> {
        // Boxed, so that it is compiled here and not in each program.
        Box::pin(async move {
            let models = Arc::new(Models::load(&store, &config).await?);
            let started_at = clock.now();
            let (signals, api_key_cache, passwords, live_counts) =
                (Arc::default(), Arc::default(), Arc::default(), Arc::default());
            let (parsers, rate_limits, fifo_baselines, awaited_ends) =
                (Arc::default(), Arc::default(), Arc::default(), Arc::default());
            let payments = payment::provider(&config.billing, &config.outgoing, &clock);
            let openid = config.console.oidc.as_ref();
            let openid = openid.map(|oidc| Arc::new(OpenId::new(oidc, &config.outgoing, &clock)));
            let metrics_access = Arc::new(MetricsAccess::new(config.metrics_token_env.as_deref()));
            let traces = Arc::new(Traces::new(config.traces.as_ref(), &clock, &ids));
            let supervisor = Arc::clone(store.supervisor());
            Ok(Self {
                store,
                clock,
                ids,
                settings: Arc::new(Settings::new(config, models)),
                signals,
                payments,
                openid,
                metrics_access,
                api_key_cache,
                parsers,
                rate_limits,
                passwords,
                live_counts,
                fifo_baselines,
                engine_history: Arc::default(),
                awaited_ends,
                traces,
                supervisor,
                started_at,
            })
        })
    }

    /// Opens the store, and combines the parts.
    pub async fn open(config: Config, clock: SharedClock) -> Result<Self, StoreError> {
        let store = Store::open(&store_options(&config), Arc::clone(&clock)).await?;
        Self::new(store, clock, Arc::new(Ids::from_system()), Arc::new(config)).await
    }

    pub fn config(&self) -> Arc<Config> {
        self.settings.config()
    }

    /// Replaces the settings and their models.
    pub fn replace_settings(&self, config: Arc<Config>, models: Models) {
        self.store.set_limits(&store_options(&config));
        self.settings.replace(config, Arc::new(models));
        self.signals.engines_changed();
    }

    /// The time that work under way gets when the process ends, in milliseconds.
    pub fn drain_ms(&self) -> i64 {
        let drain_ms = self.config().drain.0;
        if self.supervisor.failure().is_some() { drain_ms.min(FAILED_DRAIN_MS) } else { drain_ms }
    }

    pub fn models(&self) -> Arc<Models> {
        self.settings.models()
    }
}

pub fn store_options(config: &Config) -> StoreOptions {
    let (server_url, server_files) = match &config.database {
        Database::Sqlite => (None, ServerFiles::default()),
        Database::Postgres(url) => {
            let files = ServerFiles { url: url.file.clone(), password: url.password_file.clone() };
            (Some(url.reveal().to_owned()), files)
        }
    };
    let node = config.node.clone().unwrap_or_else(names::of_process);
    StoreOptions {
        server_url,
        server_files,
        node,
        schedules: config.role.schedules(),
        quotas: config.quotas,
        disk_reserve: config.disk_reserve.map(|ByteSize(bytes)| bytes),
        key_folder: config.encryption.as_ref().map(|encryption| encryption.key_dir.clone()),
        encrypts: config.encryption.as_ref().is_some_and(|encryption| encryption.enabled),
        object_store: config.object_store.as_ref().map(|it| object_store_options(it, &config.outgoing)),
        ..StoreOptions::new(&config.data_dir)
    }
}

pub fn object_store_options(config: &ObjectStoreConfig, outgoing: &OutgoingConfig) -> ObjectStoreOptions {
    let ByteSize(min_bytes) = config.min_bytes;
    ObjectStoreOptions {
        url: config.url.clone(),
        // Names are appended with a slash.
        endpoint: config.endpoint.as_ref().map(|url| url.as_str().trim_end_matches('/').to_owned()),
        region: config.region.clone(),
        allow_http: config.allow_http,
        min_bytes: config.enabled.then_some(usize::try_from(min_bytes).unwrap_or(usize::MAX)),
        ca_files: outgoing.ca_files.clone(),
        proxy: match &outgoing.proxy {
            ProxyUse::At(url) => Some(url.clone()),
            ProxyUse::Environment | ProxyUse::Direct => None,
        },
    }
}

/// Runs `work` to completion even if the caller leaves.
async fn finish<T: Send + 'static>(
    work: impl Future<Output = Result<T, AppError>> + Send + 'static,
) -> Result<T, AppError> {
    let work = traces::in_current_call(ReadsFor::current().scope(work.in_current_span()));
    match Actor::current() {
        Some(actor) => joined(tasks::spawn(actor.scope(work))).await,
        None => joined(tasks::spawn(work)).await,
    }
}

/// The result of a task. Propagates its panic.
async fn joined<T>(task: JoinHandle<Result<T, AppError>>) -> Result<T, AppError> {
    match task.await {
        Ok(outcome) => outcome,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(StoreError::Stopped.into()),
        },
    }
}
