//! Engines discovered through DNS.

use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use overnight_base::clock::{ManualClock, SharedClock, SystemClock};
use overnight_base::ids::Ids;
use overnight_config::{Config, EngineKind, KeySource};
use overnight_engine_clients::{EngineNames, Engines, Lookup};
use overnight_testkit::engine::{SimConfig, SimEngine};

use super::reloading::slow;
use super::{Rig, Setup, config, eventually};

/// A name server with the test's answers.
#[derive(Clone, Default)]
struct NameServer(Arc<Mutex<Option<Vec<IpAddr>>>>);

impl NameServer {
    /// Sets the answer; `None` makes the server unreachable.
    fn answer(&self, addresses: Option<&[&str]>) {
        let parsed = addresses.map(|texts| texts.iter().map(|text| text.parse().unwrap()).collect());
        *self.0.lock().unwrap() = parsed;
    }

    fn lookup(&self) -> Lookup {
        let answers = Arc::clone(&self.0);
        Arc::new(move |name| {
            assert_eq!(name, "engines.example");
            let found = answers.lock().unwrap().clone();
            Box::pin(async move { found.ok_or_else(|| io::Error::other("no name server answers")) })
        })
    }
}

/// The same engine under a host name.
fn under_name(config: &Config) -> Config {
    let mut config = config.clone();
    config.engines.truncate(1);
    let EngineKind::OpenAi(openai) = &mut config.engines[0].kind else { panic!("another kind") };
    openai.base_url.set_host(Some("engines.example")).unwrap();
    (openai.is_discovered, openai.is_shared) = (true, true);
    config
}

fn names(engines: &Engines) -> Vec<String> {
    engines.list().iter().map(|client| client.config().name.clone()).collect()
}

#[tokio::test]
async fn each_address_of_a_name_is_a_replica_and_what_was_known_outlives_a_name_server() {
    let folder = tempfile::tempdir().unwrap();
    let engine = SimEngine::start(SimConfig::default()).unwrap();
    let config = under_name(&config(folder.path(), &[engine], &Setup::default()));
    let server = NameServer::default();
    let clock = Arc::new(SystemClock);
    let engines = Engines::start(&config, &(clock as _), &Arc::new(Ids::from_seed(1))).unwrap();
    let engines = engines.with_lookup(server.lookup());
    assert!(!engines.look_up_again().await.unwrap() && names(&engines).is_empty());
    let failure = engines.lookup_failure("sim-0").await;
    assert_eq!(failure.as_deref(), Some("engines.example cannot be looked up: no name server answers"));
    assert_eq!(config.engine_of("sim-0/10.0.0.1"), config.engines.first());
    assert_eq!((config.engine_of("sim-0x/1"), config.engine_of("sim")), (None, None));

    server.answer(Some(&["10.0.0.2", "fd00::1", "10.0.0.1", "10.0.0.2"]));
    assert!(engines.look_up_again().await.unwrap());
    assert_eq!(names(&engines), ["sim-0/10.0.0.1", "sim-0/10.0.0.2"], "one family, in order, each once");
    let urls: Vec<_> = engines.list().iter().map(|it| it.config().shared_name().map(str::to_owned)).collect();
    assert!(urls[0].as_ref().unwrap().starts_with("http://10.0.0.1:"), "{urls:?}");
    let before = engines.list();
    assert!(!engines.look_up_again().await.unwrap());
    server.answer(None);
    assert!(!engines.look_up_again().await.unwrap());
    server.answer(Some(&[]));
    assert!(!engines.look_up_again().await.unwrap());
    assert_eq!(engines.lookup_failure("sim-0").await.as_deref(), Some("engines.example has no address"));
    server.answer(Some(&["10.0.0.3", "10.0.0.2"]));
    assert!(engines.look_up_again().await.unwrap());
    assert_eq!(names(&engines), ["sim-0/10.0.0.2", "sim-0/10.0.0.3"]);
    assert!(Arc::ptr_eq(&before[1], &engines.list()[0]), "who stays keeps its client");
    server.answer(Some(&["fd00::1"]));
    assert!(engines.look_up_again().await.unwrap());
    assert!(engines.list()[0].config().shared_name().unwrap().starts_with("http://[fd00::1]:"));
    assert!(engines.configure(&[]).await.unwrap() && names(&engines).is_empty());
}

#[tokio::test]
async fn addresses_of_replicas_that_left_stay_known_for_some_minutes() {
    let folder = tempfile::tempdir().unwrap();
    let engine = SimEngine::start(SimConfig::default()).unwrap();
    let config = under_name(&config(folder.path(), &[engine], &Setup::default()));
    let server = NameServer::default();
    let clock = ManualClock::at(0);
    let engines = Engines::start(&config, &(Arc::clone(&clock) as _), &Arc::new(Ids::from_seed(1))).unwrap();
    let engines = engines.with_lookup(server.lookup());
    let known = || engines.addresses().into_iter().map(|it| it.ip().to_string()).collect::<BTreeSet<_>>();
    let both = BTreeSet::from(["10.0.0.1", "10.0.0.2"].map(str::to_owned));
    server.answer(Some(&["10.0.0.1", "10.0.0.2"]));
    assert!(engines.look_up_again().await.unwrap());
    assert_eq!(known(), both);
    let leaving = engines.list().swap_remove(0);
    server.answer(Some(&["10.0.0.2"]));
    assert!(engines.look_up_again().await.unwrap());
    clock.set(3_600_000);
    assert_eq!(known(), both, "it still works");
    engines.release(leaving).await;
    clock.set(3_600_000 + 599_999);
    assert_eq!(known(), both);
    clock.set(3_600_000 + 600_000);
    assert_eq!(known(), BTreeSet::from(["10.0.0.2".to_owned()]));
}

#[tokio::test]
async fn names_of_engines_are_looked_up_where_none_is_driven() {
    let folder = tempfile::tempdir().unwrap();
    let engine = SimEngine::start(SimConfig::default()).unwrap();
    let port = engine.address().port();
    let engines = under_name(&config(folder.path(), &[engine], &Setup::default())).engines;
    let server = NameServer::default();
    let clock = ManualClock::at(0);
    let names = EngineNames::new(&(Arc::clone(&clock) as _)).with_lookup(server.lookup());
    let at = |address: &str| format!("{address}:{port}").parse().unwrap();
    server.answer(Some(&["10.0.0.1", "10.0.0.2"]));
    names.look_up_again(&engines).await;
    server.answer(Some(&["10.0.0.2"]));
    clock.set(599_999);
    names.look_up_again(&engines).await;
    assert_eq!(names.addresses(), [at("10.0.0.1"), at("10.0.0.2")]);
    clock.set(600_000);
    assert_eq!(names.addresses(), [at("10.0.0.2")]);
    server.answer(None);
    clock.set(3_600_000);
    names.look_up_again(&engines).await;
    assert_eq!(names.addresses(), [at("10.0.0.2")], "a name server that is away makes nothing unknown");
}

#[tokio::test]
async fn a_key_that_cannot_be_read_any_more_keeps_no_engine_from_being_found() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (SimEngine::start(SimConfig::default()), SimEngine::start(SimConfig::default()));
    let mut config = config(folder.path(), &[one.unwrap(), other.unwrap()], &Setup::default());
    let fixed = config.engines.pop().unwrap();
    let mut config = under_name(&config);
    config.engines.push(fixed);
    let paths = ["of the name", "of the other"].map(|name| folder.path().join(name));
    for (engine, path) in config.engines.iter_mut().zip(&paths) {
        std::fs::write(path, "a-key\n").unwrap();
        let EngineKind::OpenAi(openai) = &mut engine.kind else { panic!("another kind") };
        openai.api_key = Some(KeySource::File(path.clone()));
    }
    let server = NameServer::default();
    server.answer(Some(&["10.0.0.1"]));
    let clock: SharedClock = Arc::new(SystemClock);
    let engines = Engines::start(&config, &clock, &Arc::new(Ids::from_seed(1))).unwrap();
    let engines = engines.with_lookup(server.lookup());
    assert!(engines.look_up_again().await.unwrap());
    let before = engines.list();

    paths.iter().for_each(|path| std::fs::remove_file(path).unwrap());
    server.answer(Some(&["10.0.0.1", "10.0.0.2"]));
    assert!(engines.look_up_again().await.unwrap());
    let after = engines.list();
    assert_eq!(names(&engines), ["sim-0/10.0.0.1", "sim-0/10.0.0.2", "sim-1"]);
    assert!(Arc::ptr_eq(&before[0], &after[0]) && Arc::ptr_eq(&before[1], &after[2]), "who stays is kept");

    let refused = engines.configure(&config.engines).await.unwrap_err().to_string();
    assert!(refused.contains("which should hold its key, cannot be read"), "{refused}");
    assert!(!engines.look_up_again().await.unwrap(), "all is as before");
    paths.iter().for_each(|path| std::fs::write(path, "another-key\n").unwrap());
    assert!(!engines.look_up_again().await.unwrap(), "keys are read with the settings alone");
    assert!(engines.configure(&config.engines).await.unwrap());
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn engines_that_dns_names_come_and_go_while_requests_run() {
    let server = NameServer::default();
    let setup = Setup { lookup: Some(server.lookup()), ..Setup::default() };
    let rig = Rig::start_all(vec![slow(1_500)], setup, async |_, _| {}).await;
    let port = rig.engines[0].address().port();
    let second = SimEngine::start_at(format!("127.0.0.2:{port}").parse().unwrap(), slow(10)).unwrap();
    server.answer(Some(&["127.0.0.1"]));
    rig.reload(|config| *config = under_name(config)).await.unwrap();
    let ids = rig.create_all(64, "one").await;
    eventually("the first works", || rig.engines[0].counters().arrived >= 16).await;
    server.answer(Some(&["127.0.0.2"]));
    assert!(rig.clients.look_up_again().await.unwrap());
    rig.services.signals.engines_changed();
    rig.all_completed(&ids).await;
    let by = [rig.engines[0].counters().arrived, second.counters().arrived];
    assert!(by.iter().sum::<u64>() == 64 && by[1] >= 16, "each once, and the second did the rest: {by:?}");
    rig.finish().await;
}
