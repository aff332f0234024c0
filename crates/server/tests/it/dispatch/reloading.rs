//! Settings that are reloaded while requests wait and run.

use overnight_app::errors::AppError;
use overnight_config::{Config, EngineKind, KeySource, Millis, Reloaded};
use overnight_domain::requests::RequestStatus;
use overnight_server::service::{ServiceError, reload};
use overnight_testkit::engine::{Fault, FaultRates, SimConfig, Tunables};

use super::{Rig, eventually};

/// An engine whose requests are still in flight when the settings change.
pub(super) fn slow(ms: u64) -> SimConfig {
    SimConfig { tunables: Tunables { base_latency_ms: ms, ..Tunables::default() }, ..SimConfig::default() }
}

impl Rig {
    /// Reloads the current settings with a change.
    pub(super) async fn reload(&self, change: impl FnOnce(&mut Config)) -> Result<Reloaded, ServiceError> {
        let mut config = (*self.services.config()).clone();
        change(&mut config);
        reload(&self.services, Some(&self.clients), config).await
    }

    /// Each request was sent to one engine, once.
    fn is_once(&self, contents: &[String]) -> bool {
        let attempts = |content: &str| self.engines.iter().map(|it| it.attempts_of(content)).sum::<u32>();
        contents.iter().all(|content| attempts(content) == 1)
    }
}

fn keep(config: &mut Config, names: &[&str]) {
    config.engines.retain(|engine| names.contains(&engine.name.as_str()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_engine_that_is_removed_ends_its_work_and_one_that_is_added_gets_the_rest() {
    let rig = Rig::start(vec![slow(1_500), slow(10)]).await;
    let both = rig.services.config().engines.clone();
    let changed = rig.reload(|config| keep(config, &["sim-0"])).await.unwrap().changed;
    assert_eq!(changed, ["engines (removed `sim-1`)"]);
    let contents: Vec<_> = (0..64).map(|number| format!("one {number}")).collect();
    let ids = rig.create_all(64, "one").await;
    eventually("the first engine works", || rig.engines[0].counters().arrived >= 16).await;
    assert_eq!(rig.engines[1].counters().arrived, 0, "nothing is sent to an engine that is not configured");

    let added = vec![both[1].clone()];
    let changed = rig.reload(|config| config.engines = added).await.unwrap().changed;
    assert_eq!(changed, ["engines (added `sim-1`; removed `sim-0`)"]);
    rig.all_completed(&ids).await;
    assert!(rig.is_once(&contents), "what was in flight was neither broken off nor repeated");
    let by = [0, 1].map(|engine: usize| rig.engines[engine].counters().arrived);
    assert!(by.iter().sum::<u64>() == 64 && by[1] >= 16, "the first got nothing new: {by:?}");
    rig.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_repeated_while_engines_come_and_go() {
    let rig = Rig::start(vec![slow(100), slow(100), slow(100)]).await;
    let all = rig.services.config().engines.clone();
    let contents: Vec<_> = (0..300).map(|number| format!("request {number}")).collect();
    let mut ids = Vec::new();
    for (number, content) in contents.iter().enumerate() {
        ids.push(rig.create(content).await);
        if number % 10 == 9 {
            let turn = number / 10;
            let mut engines = all.clone();
            engines.remove(turn % 3);
            engines[0].max_concurrency = 1 + u32::try_from(turn).unwrap() % 16;
            engines[1].request_timeout = Millis(60_000 + turn as i64);
            rig.reload(|config| config.engines = engines).await.unwrap();
        }
    }
    rig.all_completed(&ids).await;
    assert!(rig.is_once(&contents));
    assert!(rig.engines.iter().filter(|engine| engine.counters().arrived > 0).count() > 1);
    rig.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prices_models_and_limits_hold_from_the_next_request_on() {
    let rig = Rig::start_with(vec![SimConfig::default()], &[]).await;
    let create = |model: &str| {
        let body = format!(
            r#"{{"request_body":{{"model":"{model}","messages":[{{"role":"user","content":"hello"}}]}}}}"#
        );
        overnight_app::requests::create(
            &rig.services,
            rig.account,
            overnight_app::requests::Sent::native(body),
        )
    };
    assert!(matches!(create("other").await, Err(AppError::Invalid(_))));
    let changed = rig
        .reload(|config| {
            let mut other = config.models[0].clone();
            other.name = "other".to_owned();
            config.models.push(other);
            config.engines[0].models.insert("other".to_owned(), "sim-model".to_owned());
        })
        .await
        .unwrap()
        .changed;
    assert_eq!(changed, ["models (added `other`)", "engines (changed `sim-0`)"]);
    let id = create("other").await.expect("a create").into_new().expect("a new one").id;
    rig.completed(id).await;

    let Reloaded { changed, needs_restart, .. } = rig
        .reload(|config| {
            config.models.pop();
            config.engines[0].models.remove("other");
            config.limits.request_body_bytes = 100;
            config.limits.metadata_bytes = 100;
            config.listen.set_port(1);
        })
        .await
        .unwrap();
    assert_eq!(changed, ["limits", "models (removed `other`)", "engines (changed `sim-0`)"]);
    assert_eq!(needs_restart, ["listen"]);
    assert_eq!(rig.services.config().limits.request_body_bytes, 100);
    assert_ne!(rig.services.config().listen.port(), 1);
    assert!(matches!(create("other").await, Err(AppError::Invalid(_))));
    rig.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_key_of_an_engine_is_read_again_from_its_file() {
    let rig = Rig::start(vec![SimConfig::default()]).await;
    let file = rig.folder.path().join("key");
    let set = |key: &str| {
        std::fs::write(&file, format!("{key}\n")).unwrap();
        rig.engines[0].tune(|tunables| tunables.api_key = Some(key.to_owned()));
    };
    set("first");
    let with_file = |config: &mut Config| {
        let EngineKind::OpenAi(openai) = &mut config.engines[0].kind else { panic!("another kind") };
        openai.api_key = Some(KeySource::File(file.clone()));
    };
    rig.reload(with_file).await.unwrap();
    let id = rig.create("one").await;
    rig.completed(id).await;

    set("second");
    assert!(rig.reload(|_| {}).await.unwrap().changed.is_empty(), "no setting has changed");
    let id = rig.create("two").await;
    rig.completed(id).await;
    assert_eq!(rig.engines[0].attempts_of("two"), 1, "it was sent with the new key at once");

    std::fs::remove_file(&file).unwrap();
    let refused = rig.reload(|config| config.limits.batch_requests = 7).await.unwrap_err().to_string();
    let is_so = refused.starts_with("engine `sim-0`: the file ") && refused.contains("cannot be read");
    assert!(is_so, "{refused}");
    assert_ne!(rig.services.config().limits.batch_requests, 7, "all of it is as before");
    let id = rig.create("three").await;
    rig.completed(id).await;
    rig.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_engine_that_moves_keeps_its_name_and_gets_its_work_at_the_new_address() {
    let hanging = Tunables { faults: FaultRates::none().with(Fault::Hang, 1.0), ..Tunables::default() };
    let rig =
        Rig::start(vec![SimConfig { tunables: hanging, ..SimConfig::default() }, SimConfig::default()]).await;
    rig.reload(|config| keep(config, &["sim-0"])).await.unwrap();
    let stuck = rig.create("stuck").await;
    eventually("it is sent", || rig.engines[0].attempts_of("stuck") == 1).await;
    let address = rig.engines[1].base_url();
    let changed = rig
        .reload(|config| {
            let EngineKind::OpenAi(openai) = &mut config.engines[0].kind else { panic!("another kind") };
            openai.base_url = address.parse().unwrap();
        })
        .await
        .unwrap()
        .changed;
    assert_eq!(changed, ["engines (changed `sim-0`)"]);
    let id = rig.create("moved").await;
    rig.completed(id).await;
    assert_eq!((rig.engines[0].attempts_of("moved"), rig.engines[1].attempts_of("moved")), (0, 1));
    assert_eq!(rig.status(stuck).await, RequestStatus::InProgress, "what it has is not broken off");
    overnight_app::requests::cancel(&rig.services, rig.account, stuck).await.unwrap();
    rig.finish().await;
}
