//! A service with a real store and a real socket, in a temporary folder.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use overnight_app::accounts::{self, Account};
use overnight_app::api_keys::{self, KeyDraft, MadeKey};
use overnight_app::{self as app, Services};
use overnight_base::clock::{ManualClock, SharedClock, SystemClock};
use overnight_base::ids::Ids;
use overnight_config::{Config, Sources};
use overnight_domain::ids::AccountId;
use overnight_domain::scheduler::AccountKey;
use overnight_http::{self as http, Listeners, Timeouts, Tls};
use overnight_store::audit_log::{self, Filter, Place};
use overnight_store::operations::audit;
use overnight_store::{Store, StoreOptions};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::stepped_clock::SharedSteps;
use super::{Client, Raw, SteppedClock, store_options};

pub(crate) const MODEL: &str = "llama-3.1-8b-instruct";

const MODELS: &str = r#"[{ name = "llama-3.1-8b-instruct", input_price = "0.10", output_price = "0.15" },
    { name = "other" }]"#;

/// The start of each service's clock, in milliseconds.
pub(crate) const START: i64 = 1_750_000_000_000;

/// Time-outs that no test reaches.
const PATIENT: Timeouts = Timeouts {
    header: Duration::from_secs(60),
    body_idle: Duration::from_secs(60),
    body_total: Duration::from_secs(120),
    idle: Duration::from_secs(60),
    stalled: Duration::from_secs(60),
    shutdown: Duration::from_secs(2),
};

/// Longer than a test's clock runs, unless the test waits for exactly this.
pub(crate) const AGES: Duration = Duration::from_secs(100 * 86_400);

/// A running service without engines: tests end requests themselves, and its clock is stopped until a test sets it.
pub(crate) struct TestApp {
    pub(crate) services: Services,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) address: SocketAddr,
    /// A separate address for probes, which clients cannot overload.
    pub(crate) metrics_address: Option<SocketAddr>,
    pub(crate) account: AccountKey,
    pub(crate) folder: TempDir,
    key: String,
    stranger_key: String,
    stop: Option<oneshot::Sender<()>>,
    server: JoinHandle<()>,
}

impl TestApp {
    pub(crate) async fn start() -> Self {
        Self::start_with(&[]).await
    }

    pub(crate) async fn start_with(settings: &[(&str, &str)]) -> Self {
        Self::start_changed(settings, |services| services).await
    }

    pub(crate) async fn start_changed(
        settings: &[(&str, &str)],
        change: impl FnOnce(Services) -> Services,
    ) -> Self {
        Self::launch(store_options, settings, PATIENT, change).await
    }

    /// Starts a service on this PostgreSQL, whatever database the other tests use.
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
        let server = tokio::spawn(http::serve_with(
            services.clone(),
            overnight_console::routes,
            listeners,
            shutdown,
            timeouts,
        ));
        let stop = Some(stop);
        Self { services, clock, address, metrics_address, account, folder, key, stranger_key, stop, server }
    }

    /// Starts a service with short time-outs, on the machine's clock.
    pub(crate) async fn start_hasty() -> Self {
        let short = Duration::from_millis(300);
        let timeouts = Timeouts { header: short, body_idle: short, body_total: short * 3, ..PATIENT };
        Self::launch(store_options, &[], timeouts, on_machine_clock).await
    }

    /// Starts a service on the machine's clock, for calls that wait.
    pub(crate) async fn start_timed() -> Self {
        Self::launch(store_options, &[], PATIENT, on_machine_clock).await
    }

    /// Starts a service on a clock under the test's control. Connections may be idle for [`AGES`].
    pub(crate) async fn start_stepped(settings: &[(&str, &str)]) -> (Self, Arc<SteppedClock>) {
        Self::start_on_steps(settings, Timeouts { header: AGES, idle: AGES, ..PATIENT }).await
    }

    /// The same, with an idle time-out of one minute.
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

    /// Checks that `figure` was counted at least once in this process, as `/metrics` shows.
    pub(crate) async fn check_counted(&self, figure: &str) {
        let answered = self.anonymous().get("/metrics").await;
        assert!(answered.text().contains(figure), "{figure} in\n{}", answered.text());
    }

    pub(crate) async fn revoked(&self) -> Client {
        let (client, made) = self.new_key(self.own().await.id, KeyDraft::PLAIN).await;
        api_keys::revoke(&self.services, made.record.id).await.expect("a revocation");
        client
    }

    pub(crate) async fn own(&self) -> Account {
        accounts::get_own(&self.services, self.account).await.expect("the account")
    }

    pub(crate) async fn new_key(&self, account: AccountId, draft: KeyDraft<'_>) -> (Client, MadeKey) {
        let made = api_keys::create(&self.services, account, draft).await.expect("a key");
        (Client::new(self.address, Some(&made.key)), made)
    }

    pub(crate) async fn new_key_named(&self, account: AccountId, name: &str) -> (Client, MadeKey) {
        self.new_key(account, KeyDraft { name: Some(name), ..KeyDraft::PLAIN }).await
    }

    /// The audit log of the account `test`, newest first.
    pub(crate) async fn noted(&self) -> Vec<audit_log::Entry> {
        let filter = Filter { account: Some(self.account), action: None, since: 0, before: Place::END };
        audit_log::list(&self.services.store, &filter, 999).await.expect("a log").entries
    }

    /// A new account without credits whose payments are activated, and its client.
    pub(crate) async fn newcomer(&self, name: &str) -> (Account, Client) {
        let account = accounts::create(&self.services, name).await.expect("an account");
        accounts::activate(&self.services, account.id).await.expect("an activation");
        let client = self.new_key(account.id, KeyDraft::PLAIN).await.0;
        (account, client)
    }

    pub(crate) async fn raw(&self) -> Raw {
        Raw::connect(self.address).await
    }

    /// The smallest body of Create Request, as in the quick start.
    pub(crate) fn quick_start(content: &str) -> Value {
        json!({"request_body": {"model": MODEL, "messages": [{"role": "user", "content": content}]}})
    }

    /// Returns its id.
    pub(crate) async fn create(&self, content: &str) -> String {
        self.client().create(content).await
    }

    /// Creates a batch of new requests; returns its id and theirs.
    pub(crate) async fn create_batch(&self, size: usize) -> (String, Vec<String>) {
        let mut ids = Vec::new();
        for place in 0..size {
            ids.push(self.create(&format!("batched {place}")).await);
        }
        (self.client().group(&ids).await, ids)
    }

    /// Stops the service and checks its invariants.
    pub(crate) async fn stop(mut self) {
        drop(self.stop.take());
        (&mut self.server).await.expect("a server");
        let checks = audit::run(&self.services.store).await.expect("an audit");
        let breaches: Vec<_> = checks.into_iter().filter(|check| check.breaches > 0).collect();
        assert!(breaches.is_empty(), "{breaches:#?}");
        self.services.store.close().await;
    }
}

fn on_machine_clock(services: Services) -> Services {
    Services { clock: Arc::new(SystemClock), ..services }
}

async fn services(options: &StoreOptions, settings: &[(&str, &str)], clock: SharedClock) -> Services {
    let set = |(path, value): &(&str, &str)| ((*path).to_owned(), (*value).to_owned());
    let mut flags: Vec<_> = settings.iter().map(set).collect();
    flags.push(("data_dir".to_owned(), options.folder.display().to_string()));
    let environment = vec![("OVERNIGHT_MODELS".to_owned(), MODELS.to_owned())];
    let sources = Sources { file: None, environment, flags };
    open_services(options, Config::load(&sources).expect("settings"), clock).await
}

/// The services of a database of the suite, with what `config` says of quotas and the object store.
pub(crate) async fn open_services(options: &StoreOptions, config: Config, clock: SharedClock) -> Services {
    let object_store = app::store_options(&config).object_store;
    let options = StoreOptions { quotas: config.quotas, object_store, ..options.clone() };
    let store = Store::open(&options, Arc::clone(&clock)).await.expect("a store");
    Services::new(store, clock, Arc::new(Ids::from_system()), Arc::new(config)).await.expect("services")
}

async fn account(services: &Services, name: &str) -> (AccountKey, String) {
    let account = accounts::create(services, name).await.expect("an account");
    accounts::activate(services, account.id).await.expect("an activation");
    let credits = "1000".parse().expect("credits");
    accounts::grant(services, account.id, credits, None).await.expect("a grant");
    let draft = KeyDraft { name: Some("first"), ..KeyDraft::PLAIN };
    let made = api_keys::create(services, account.id, draft).await.expect("a key");
    (account.key, made.key)
}
