//! The use cases: what people and operators can do. They know the store, and nothing of HTTP.

pub mod accounts;
pub mod activity;
pub mod administration;
pub mod api_keys;
pub mod audit_log;
pub mod batches;
pub mod bootstrap;
mod certificates;
pub mod clock_checks;
pub mod closing;
pub mod engine_history;
pub mod engines;
pub mod errors;
pub mod explanation;
pub mod failures;
pub mod fifo_baselines;
pub mod file_batches;
pub mod files;
pub mod forecasts;
pub mod idempotency;
mod input;
pub mod invitations;
mod live_count_cache;
pub mod low_credits;
pub mod members;
pub mod messages;
mod metrics_access;
pub mod models;
pub mod monthly_grants;
mod names;
mod networks;
pub mod overview;
pub mod pages;
mod parsing;
mod passwords;
pub mod payments;
mod people;
pub mod quotas;
mod rate_limits;
mod request_pages;
pub mod requests;
pub mod sessions;
mod settings;
mod signals;
pub mod snapshot;
pub mod stalls;
pub mod submissions;
pub mod uploads;
pub mod usage;
pub mod users;
pub mod waiting;
pub mod webhooks;
pub mod write_retry;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::task::JoinHandle;
use tracing::Instrument;

use self::api_keys::ApiKeyCache;
pub use self::certificates::{CertificatesUnusable, check_certificates};
use self::engine_history::EngineHistory;
use self::errors::AppError;
use self::fifo_baselines::FifoBaselines;
pub use self::input::SEARCH_CHARS_MAX;
pub use self::live_count_cache::LiveCountCache;
pub use self::metrics_access::{MetricsAccess, MetricsTokenUnusable};
pub use self::models::{Model, Models, left_behind};
pub use self::names::NAME_CHARS_MAX;
pub use self::networks::ClientNetwork;
pub use self::parsing::{Parsers, parse};
pub use self::passwords::{PASSWORD_CHARS_MIN, Passwords};
pub use self::rate_limits::{RateLimits, RateStanding};
pub use self::requests::AwaitedEnds;
pub use self::settings::Settings;
pub use self::signals::{HEARD_EVERY_MS, News, Signals, SweepQuestion, SweepState};
use overnight_base::clock::SharedClock;
use overnight_base::ids::Ids;

use crate::config::{ByteSize, Config, Database, ObjectStoreConfig, OutgoingConfig, ProxyUse};
use crate::object_store::ObjectStoreOptions;
use crate::openid::OpenId;
use crate::payment::{self, PaymentProvider};
pub use crate::store::{Actor, ActorId, ReadsFor};
use overnight_base::supervision::Supervisor;
use overnight_base::tasks;

use crate::store::{ServerFiles, Store, StoreError, StoreOptions};
use crate::traces::{self, Traces};

/// As [`Services::drain_ms`], at most, where the process ends because of a loop.
const FAILED_DRAIN_MS: i64 = 2_000;

/// What every use case and every worker needs; clones share it.
#[derive(Clone)]
pub struct Services {
    pub store: Store,
    pub clock: SharedClock,
    pub ids: Arc<Ids>,
    /// The settings as last loaded, and the models that they name.
    pub settings: Arc<Settings>,
    pub signals: Arc<Signals>,
    pub payments: Arc<dyn PaymentProvider>,
    /// Who else knows people, if somebody does.
    pub openid: Option<Arc<OpenId>>,
    pub metrics_access: Arc<MetricsAccess>,
    /// Caches which account a key opens.
    pub api_key_cache: Arc<ApiKeyCache>,
    /// Where long texts are parsed.
    pub parsers: Arc<Parsers>,
    /// Counts the requests that accounts create in a second.
    pub rate_limits: Arc<RateLimits>,
    /// Makes and compares the hashes of passwords.
    pub passwords: Arc<Passwords>,
    /// Caches counts of live requests.
    pub live_counts: Arc<LiveCountCache>,
    /// Estimates what prefix caches would hold in order of arrival.
    pub fifo_baselines: Arc<FifoBaselines>,
    /// How fast engines worked lately.
    pub engine_history: Arc<EngineHistory>,
    /// Wakes the calls that wait for the ends of requests.
    pub awaited_ends: Arc<AwaitedEnds>,
    /// Where spans of traces are recorded.
    pub traces: Arc<Traces>,
    /// Who owns the loops of this process.
    pub supervisor: Arc<Supervisor>,
    /// When this process began to serve, in milliseconds.
    pub started_at: i64,
}

impl Services {
    /// Puts them together over an open store; each configured model gets its row.
    pub fn new(
        store: Store,
        clock: SharedClock,
        ids: Arc<Ids>,
        config: Arc<Config>,
    ) -> BoxFuture<'static, Result<Self, StoreError>> {
        // Boxed, so that it is compiled here and not as a part of each program.
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

    pub fn config(&self) -> Arc<Config> {
        self.settings.config()
    }

    /// From now on the settings are these, and the models that they name.
    pub fn replace_settings(&self, config: Arc<Config>, models: Models) {
        self.store.set_limits(&store_options(&config));
        self.settings.replace(config, Arc::new(models));
        self.signals.engines_changed();
    }

    /// For how long work under way may go on when the process ends, in milliseconds.
    pub fn drain_ms(&self) -> i64 {
        let drain_ms = self.config().drain.0;
        if self.supervisor.failure().is_some() { drain_ms.min(FAILED_DRAIN_MS) } else { drain_ms }
    }

    /// The models that the settings name.
    pub fn models(&self) -> Arc<Models> {
        self.settings.models()
    }
}

/// How the store of these settings is opened.
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

/// How the object store of these settings is reached.
pub fn object_store_options(config: &ObjectStoreConfig, outgoing: &OutgoingConfig) -> ObjectStoreOptions {
    let ByteSize(min_bytes) = config.min_bytes;
    ObjectStoreOptions {
        url: config.url.clone(),
        // Names are added to it with a slash.
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

/// The services of a process with these settings, over a store that it opens: for tests of other layers, which know no store.
#[cfg(test)]
pub(crate) async fn open(config: Config, clock: SharedClock) -> Services {
    let store = Store::open(&store_options(&config), Arc::clone(&clock)).await.expect("a store");
    let ids = Arc::new(Ids::from_system());
    Services::new(store, clock, ids, Arc::new(config)).await.expect("services")
}

/// Carries `work` through even if whoever asked for it leaves.
async fn finish<T: Send + 'static>(
    work: impl Future<Output = Result<T, AppError>> + Send + 'static,
) -> Result<T, AppError> {
    let work = traces::in_current_call(ReadsFor::current().scope(work.in_current_span()));
    match Actor::current() {
        Some(actor) => joined(tasks::spawn(actor.scope(work))).await,
        None => joined(tasks::spawn(work)).await,
    }
}

/// What a task came to. Its panic goes on here.
async fn joined<T>(task: JoinHandle<Result<T, AppError>>) -> Result<T, AppError> {
    match task.await {
        Ok(outcome) => outcome,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(StoreError::Stopped.into()),
        },
    }
}
