//! Requests from creation to end: the real use cases, store, shell and HTTP client, with an engine on a real socket that misbehaves on
//! demand.

mod budgets;
mod caches;
mod discovery;
mod disk;
mod endpoints;
mod ends;
mod faults;
mod forecasts;
mod hours;
mod jumps;
mod limits;
mod logs;
mod one_model;
mod poison;
mod rates;
mod reloading;
mod renames;
mod reports;
mod savings;
mod stepped;
mod usages;
mod warnings;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use overnight_app::{self as app, Services};
use overnight_base::clock::{SharedClock, SystemClock};
use overnight_config::{Config, Sources};
use overnight_domain::ids::RequestId;
use overnight_domain::records::{RequestRecord, RequestSummary};
use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::AccountKey;
use overnight_engine_clients::{Engines, Lookup};
use overnight_runtime::scheduler::Shell;
use overnight_runtime::workers;
use overnight_store::operations::audit;
use overnight_testkit::engine::{SimConfig, SimEngine};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

use crate::support::{open_services, store_options};

/// Only a hang lasts this long. Requests that break connections are tried one by one, and after each the engine rests for four times the
/// trial's duration: a minute passes if a trial takes 200 ms on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// A service without HTTP, over simulated engines.
struct Rig {
    services: Services,
    account: AccountKey,
    engines: Vec<SimEngine>,
    clients: Arc<Engines>,
    stop: oneshot::Sender<()>,
    shell: JoinHandle<()>,
    workers: JoinSet<()>,
    folder: TempDir,
    setup: Setup,
}

/// Options of a service.
#[derive(Clone)]
struct Setup {
    environment: Vec<(String, String)>,
    /// Other models, which each engine serves under the same names.
    other_models: &'static [&'static str],
    /// More settings of each engine, one on each line.
    engine_settings: &'static str,
    clock: SharedClock,
    /// Replaces the machine's DNS.
    lookup: Option<Lookup>,
}

impl Default for Setup {
    fn default() -> Self {
        let (environment, clock) = (Vec::new(), Arc::new(SystemClock));
        Self { environment, other_models: &[], engine_settings: "", clock, lookup: None }
    }
}

impl Rig {
    /// Starts a service with one replica for each engine.
    async fn start(configs: Vec<SimConfig>) -> Self {
        Self::start_after(configs, async |_, _| {}).await
    }

    async fn start_with(configs: Vec<SimConfig>, environment: &[(&str, &str)]) -> Self {
        let environment = environment.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        Self::start_all(configs, Setup { environment, ..Setup::default() }, async |_, _| {}).await
    }

    /// The same, but runs `work` before anything is scheduled.
    async fn start_after(configs: Vec<SimConfig>, work: impl AsyncFnOnce(&Services, AccountKey)) -> Self {
        Self::start_all(configs, Setup::default(), work).await
    }

    async fn start_all(
        configs: Vec<SimConfig>,
        setup: Setup,
        work: impl AsyncFnOnce(&Services, AccountKey),
    ) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let engines: Vec<_> =
            configs.into_iter().map(|config| SimEngine::start(config).expect("an engine")).collect();
        let services = open(folder.path(), &engines, &setup).await;
        let account = app::accounts::create(&services, "test").await.expect("an account").key;
        work(&services, account).await;
        let (clients, stop, shell) = schedule(&services, &setup).await;
        let workers = workers::spawn(&services);
        Self { services, account, engines, clients, stop, shell, workers, folder, setup }
    }

    /// Stops the service and starts it again in the same folder; the engines keep running.
    async fn restart(self) -> Self {
        let Self { services, account, engines, stop, shell, workers, folder, setup, .. } = self;
        let _ = stop.send(());
        shell.await.expect("the shell ends");
        drop(workers);
        services.store.close().await;
        drop(services);
        let services = open(folder.path(), &engines, &setup).await;
        let (clients, stop, shell) = schedule(&services, &setup).await;
        let workers = workers::spawn(&services);
        Self { services, account, engines, clients, stop, shell, workers, folder, setup }
    }

    async fn create(&self, content: &str) -> RequestId {
        self.create_for(self.account, content).await
    }

    async fn create_for(&self, account: AccountKey, content: &str) -> RequestId {
        create_in(&self.services, account, content).await
    }

    /// Creates `count` requests with numbered contents.
    async fn create_all(&self, count: usize, name: &str) -> Vec<RequestId> {
        let mut ids = Vec::new();
        for number in 0..count {
            ids.push(self.create(&format!("{name} {number}")).await);
        }
        ids
    }

    async fn record(&self, id: RequestId) -> RequestRecord {
        self.record_of(self.account, id).await
    }

    async fn record_of(&self, account: AccountKey, id: RequestId) -> RequestRecord {
        app::requests::get_record(&self.services, account, id).await.expect("a record")
    }

    /// The summary of a request, with its estimated time and the reason why it waits.
    async fn summary(&self, id: RequestId) -> (RequestSummary, app::requests::Prospect) {
        app::requests::get_summary(&self.services, self.account, id).await.expect("a request")
    }

    async fn status(&self, id: RequestId) -> RequestStatus {
        self.record(id).await.summary.state.status()
    }

    /// Waits until the request has ended; returns its record.
    async fn ended(&self, id: RequestId) -> RequestRecord {
        self.ended_of(self.account, id).await
    }

    /// Waits until the request has completed; returns its record.
    async fn completed(&self, id: RequestId) -> RequestRecord {
        let record = self.ended(id).await;
        assert_eq!(
            record.summary.state.status(),
            RequestStatus::Completed,
            "{}: {record:?}",
            result_of(&record)
        );
        record
    }

    async fn all_completed(&self, ids: &[RequestId]) {
        for id in ids {
            self.completed(*id).await;
        }
    }

    async fn ended_of(&self, account: AccountKey, id: RequestId) -> RequestRecord {
        until("the request ends", async || {
            let record = self.record_of(account, id).await;
            record.summary.state.is_terminal().then_some(record)
        })
        .await
    }

    /// The record of a request after this many failed attempts.
    async fn failed_times(&self, id: RequestId, attempts: usize) -> RequestRecord {
        until("the attempts fail", async || {
            let record = self.record_of(self.account, id).await;
            (record.attempts.len() >= attempts).then_some(record)
        })
        .await
    }

    /// Stops the service and checks every invariant.
    async fn finish(self) {
        let _ = self.stop.send(());
        self.shell.await.expect("the shell ends");
        let checks = audit::run(&self.services.store).await.expect("an audit");
        let breaches: Vec<_> = checks.into_iter().filter(|check| check.breaches > 0).collect();
        assert!(breaches.is_empty(), "{breaches:#?}");
        self.services.store.close().await;
    }
}

/// The services of a folder.
async fn open(folder: &Path, engines: &[SimEngine], setup: &Setup) -> Services {
    open_services(&store_options(folder), config(folder, engines, setup), Arc::clone(&setup.clock)).await
}

/// A running scheduler, its engines, and the channel that stops it.
async fn schedule(services: &Services, setup: &Setup) -> (Arc<Engines>, oneshot::Sender<()>, JoinHandle<()>) {
    let clients = Engines::start(&services.config(), &services.clock, &services.ids).expect("clients");
    let clients = Arc::new(match setup.lookup.clone() {
        Some(lookup) => clients.with_lookup(lookup),
        None => clients,
    });
    let shell = Shell::new(services.clone(), Arc::clone(&clients)).await.expect("a shell");
    let (stop, stopped) = oneshot::channel::<()>();
    let shell = tokio::spawn(shell.run(async move {
        let _ = stopped.await;
    }));
    (clients, stop, shell)
}

async fn create_in(services: &Services, account: AccountKey, content: &str) -> RequestId {
    create_for_model(services, account, "sim", content).await
}

async fn create_for_model(services: &Services, account: AccountKey, model: &str, content: &str) -> RequestId {
    let body = format!(
        r#"{{"request_body":{{"model":"{model}","max_tokens":8,"messages":[{{"role":"user","content":"{content}"}}]}}}}"#
    );
    create_of(services, account, body).await.id
}

/// Creates a request with this body.
async fn create_of(services: &Services, account: AccountKey, body: String) -> RequestSummary {
    let created = app::requests::create(services, account, app::requests::Sent::native(body)).await;
    created.expect("a create").into_new().expect("a call without a key")
}

/// The text of a record's result.
fn result_of(record: &RequestRecord) -> String {
    String::from_utf8(record.result.clone().unwrap_or_default().into()).expect("text")
}

/// Creates requests without end, so that a hundred are always unanswered at the first engine.
async fn feed<T>(rig: &Rig, ids: &mut Vec<RequestId>, create: impl AsyncFn(usize) -> RequestId) -> T {
    loop {
        while (ids.len() as u64) < rig.engines[0].counters().answered + 100 {
            ids.push(create(ids.len()).await);
        }
        pause().await;
    }
}

async fn eventually(what: &str, holds: impl Fn() -> bool) {
    until(what, async || holds().then_some(())).await;
}

/// Waits until `look` returns a value.
async fn until<T>(what: &str, look: impl AsyncFn() -> Option<T>) -> T {
    let wait = async {
        loop {
            match look().await {
                Some(found) => return found,
                None => pause().await,
            }
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.unwrap_or_else(|_| panic!("never: {what}"))
}

#[expect(clippy::disallowed_methods, reason = "these tests live in real time")]
async fn pause() {
    tokio::time::sleep(Duration::from_millis(10)).await;
}

fn config(folder: &Path, engines: &[SimEngine], setup: &Setup) -> Config {
    let mut text = format!(
        "data_dir = \"{}\"\naggregation_period = \"50ms\"\n[[models]]\nname = \"sim\"\n",
        folder.display()
    );
    let mut served = "\"sim\" = \"sim-model\"".to_owned();
    for model in setup.other_models {
        text += &format!("[[models]]\nname = \"{model}\"\n");
        served += &format!(", \"{model}\" = \"{model}\"");
    }
    for (number, engine) in engines.iter().enumerate() {
        text += &format!(
            "[[engines]]\nname = \"sim-{number}\"\nkind = \"openai\"\nbase_url = \"{}\"\nmodels = {{ {served} }}\nmax_concurrency = 16\n{}\n",
            engine.base_url(),
            setup.engine_settings
        );
    }
    let file = folder.join("test.toml");
    std::fs::write(&file, text).expect("a config file");
    let environment = setup.environment.clone();
    Config::load(&Sources { file: Some(file), environment, ..Sources::default() }).expect("a config")
}
