//! A service over a real store and a real socket, in a folder of its own.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use overnight_base::clock::{ManualClock, SharedClock, SystemClock};
use overnight_base::ids::Ids;
use overnight_domain::scheduler::AccountKey;
use overnight_server::app::{self, Services};
use overnight_server::config::{Config, Sources};
use overnight_server::http::{self, Listeners, Timeouts, Tls};
use overnight_server::store::operations::audit;
use overnight_server::store::{Store, StoreOptions};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::stepped_clock::SharedSteps;
use super::{Client, Raw, SteppedClock, store_options};

/// The model that requests of these tests name.
pub(crate) const MODEL: &str = "llama-3.1-8b-instruct";

const MODELS: &str = r#"[{ name = "llama-3.1-8b-instruct", input_price = "0.10", output_price = "0.15" },
    { name = "other" }]"#;

/// When the clock of each service begins, in milliseconds.
pub(crate) const START: i64 = 1_750_000_000_000;

/// Time-outs for tests that do not wait for one.
const PATIENT: Timeouts = Timeouts {
    header: Duration::from_secs(60),
    body_idle: Duration::from_secs(60),
    body_total: Duration::from_secs(120),
    idle: Duration::from_secs(60),
    stalled: Duration::from_secs(60),
    shutdown: Duration::from_secs(2),
};

/// Longer than a test lets pass, unless it waits for just this.
pub(crate) const AGES: Duration = Duration::from_secs(100 * 86_400);

/// A running service without engines: what is to end is ended by the test, and its clock stands still until the test sets it.
pub(crate) struct TestApp {
    pub(crate) services: Services,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) address: SocketAddr,
    /// Where probes ask that clients cannot keep out, if there is such a place.
    pub(crate) metrics_address: Option<SocketAddr>,
    pub(crate) account: AccountKey,
    pub(crate) folder: TempDir,
    key: String,
    stranger_key: String,
    stop: Option<oneshot::Sender<()>>,
    server: JoinHandle<()>,
}

impl TestApp {
    /// Starts a service with the defaults.
    pub(crate) async fn start() -> Self {
        Self::start_with(&[]).await
    }

    /// Starts a service with these settings.
    pub(crate) async fn start_with(settings: &[(&str, &str)]) -> Self {
        Self::start_changed(settings, |services| services).await
    }

    /// Starts a service with these settings and a part of it replaced.
    pub(crate) async fn start_changed(
        settings: &[(&str, &str)],
        change: impl FnOnce(Services) -> Services,
    ) -> Self {
        Self::launch(store_options, settings, PATIENT, change).await
    }

    /// Starts a service on this database of a PostgreSQL, whatever the others run on.
    pub(crate) async fn start_on(server_url: String) -> Self {
        let in_folder =
            |folder: &Path| StoreOptions { server_url: Some(server_url), ..store_options(folder) };
        Self::launch(in_folder, &[], PATIENT, |services| services).await
    }

    async fn launch(
        options: impl FnOnce(&Path) -> StoreOptions,
        settings: &[(&str, &str)],
        timeouts: Timeouts,
        change: impl FnOnce(Services) -> Services,
    ) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let clock = ManualClock::at(START);
        let options = options(folder.path());
        let services = change(services(&options, settings, clock.clone()).await);
        let (account, key) = account(&services, "test").await;
        let (_, stranger_key) = self::account(&services, "stranger").await;
        let any_port = "127.0.0.1:0".parse().expect("an address");
        let listeners = Listeners::bind(any_port, services.config().metrics_listen).expect("a port");
        let listeners = match &services.config().tls {
            Some(files) => listeners.with_tls(Tls::read(files).expect("a certificate")),
            None => listeners,
        };
        let address = listeners.address().expect("an address");
        let metrics_address = listeners.addresses().get(1).copied();
        let (stop, stopped) = oneshot::channel::<()>();
        let shutdown = async move { drop(stopped.await) };
        let server = tokio::spawn(http::serve_with(services.clone(), listeners, shutdown, timeouts));
        let stop = Some(stop);
        Self { services, clock, address, metrics_address, account, folder, key, stranger_key, stop, server }
    }

    /// Starts a service whose batches group so many requests at most.
    pub(crate) async fn start_with_limits(batch_requests: &str) -> Self {
        Self::start_with(&[("limits.batch_requests", batch_requests)]).await
    }

    /// Starts a service where nothing costs credits.
    pub(crate) async fn start_without_billing() -> Self {
        Self::start_with(&[("billing.enabled", "false")]).await
    }

    /// Starts a service whose figures have an address of their own.
    pub(crate) async fn start_with_metrics(metrics_listen: &str) -> Self {
        Self::start_with(&[("metrics_listen", metrics_listen)]).await
    }

    /// Starts a service whose clients have little time, by the machine's clock: it is what they let pass.
    pub(crate) async fn start_hasty() -> Self {
        let short = Duration::from_millis(300);
        let timeouts = Timeouts { header: short, body_idle: short, body_total: short * 3, ..PATIENT };
        let real = |services| Services { clock: Arc::new(SystemClock), ..services };
        Self::launch(store_options, &[], timeouts, real).await
    }

    /// Starts a service with these settings, on a clock that the test moves on. Connections may be idle for [`AGES`].
    pub(crate) async fn start_stepped(settings: &[(&str, &str)]) -> (Self, Arc<SteppedClock>) {
        Self::start_on_steps(settings, Timeouts { header: AGES, idle: AGES, ..PATIENT }).await
    }

    /// The same, with connections that may be idle for a minute.
    pub(crate) async fn start_stepped_impatient(settings: &[(&str, &str)]) -> (Self, Arc<SteppedClock>) {
        Self::start_on_steps(settings, PATIENT).await
    }

    async fn start_on_steps(settings: &[(&str, &str)], timeouts: Timeouts) -> (Self, Arc<SteppedClock>) {
        let clock = SteppedClock::at(START);
        let steps = Arc::new(SharedSteps(Arc::clone(&clock)));
        let stepped = |services| Services { clock: steps, ..services };
        (Self::launch(store_options, settings, timeouts, stepped).await, clock)
    }

    /// The client of the account `test`.
    pub(crate) fn client(&self) -> Client {
        Client::new(self.address, Some(&self.key))
    }

    /// A client without a key.
    pub(crate) fn anonymous(&self) -> Client {
        Client::new(self.address, None)
    }

    /// The client of another account.
    pub(crate) fn stranger(&self) -> Client {
        Client::new(self.address, Some(&self.stranger_key))
    }

    /// The key of [`TestApp::client`].
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// Checks that `figure` is shown at `/metrics`: it was counted at least once in this process.
    pub(crate) async fn check_counted(&self, figure: &str) {
        let answered = self.anonymous().get("/metrics").await;
        assert!(answered.text().contains(figure), "{figure} in\n{}", answered.text());
    }

    /// A client whose key was revoked.
    pub(crate) async fn revoked(&self) -> Client {
        let account = app::accounts::list(&self.services).await.expect("accounts")[0].id;
        let made = app::api_keys::create(&self.services, account, app::api_keys::KeyDraft::PLAIN)
            .await
            .expect("a key");
        app::api_keys::revoke(&self.services, made.record.id).await.expect("a revocation");
        Client::new(self.address, Some(&made.key))
    }

    /// A bare connection.
    pub(crate) async fn raw(&self) -> Raw {
        Raw::connect(self.address).await
    }

    /// The smallest body of Create Request, as the quick start sends it.
    pub(crate) fn quick_start(content: &str) -> Value {
        json!({"request_body": {"model": MODEL, "messages": [{"role": "user", "content": content}]}})
    }

    /// Creates a request; its id.
    pub(crate) async fn create(&self, content: &str) -> String {
        self.client().create(content).await
    }

    /// Creates a batch of new requests; its id and theirs.
    pub(crate) async fn create_batch(&self, size: usize) -> (String, Vec<String>) {
        let mut ids = Vec::new();
        for place in 0..size {
            ids.push(self.create(&format!("batched {place}")).await);
        }
        let answered = self.client().post("/v1/batches", &json!({"requests_ids": ids})).await;
        assert_eq!(answered.status, 201, "{answered:?}");
        (answered.json()["id"].as_str().expect("an id").to_owned(), ids)
    }

    /// Stops the service, and checks that it left everything sound.
    pub(crate) async fn stop(mut self) {
        drop(self.stop.take());
        (&mut self.server).await.expect("a server");
        let checks = audit::run(&self.services.store).await.expect("an audit");
        let breaches: Vec<_> = checks.into_iter().filter(|check| check.breaches > 0).collect();
        assert!(breaches.is_empty(), "{breaches:#?}");
        self.services.store.close().await;
    }
}

async fn services(options: &StoreOptions, settings: &[(&str, &str)], clock: SharedClock) -> Services {
    let set = |(path, value): &(&str, &str)| ((*path).to_owned(), (*value).to_owned());
    let mut flags: Vec<_> = settings.iter().map(set).collect();
    flags.push(("data_dir".to_owned(), options.folder.display().to_string()));
    let environment = vec![("OVERNIGHT_MODELS".to_owned(), MODELS.to_owned())];
    let sources = Sources { file: None, environment, flags };
    let config = Arc::new(Config::load(&sources).expect("settings"));
    let object_store = app::store_options(&config).object_store;
    let options = StoreOptions { quotas: config.quotas, object_store, ..options.clone() };
    let store = Store::open(&options, Arc::clone(&clock)).await.expect("a store");
    Services::new(store, clock, Arc::new(Ids::from_system()), config).await.expect("services")
}

async fn account(services: &Services, name: &str) -> (AccountKey, String) {
    let account = app::accounts::create(services, name).await.expect("an account");
    app::accounts::activate(services, account.id).await.expect("an activation");
    let credits = "1000".parse().expect("credits");
    app::accounts::grant(services, account.id, credits, None).await.expect("a grant");
    let made = app::api_keys::create(
        services,
        account.id,
        app::api_keys::KeyDraft { name: Some("first"), ..app::api_keys::KeyDraft::PLAIN },
    )
    .await
    .expect("a key");
    (account.key, made.key)
}
