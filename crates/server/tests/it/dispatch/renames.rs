//! Models that are renamed, retire or are removed while requests wait for them.

use overnight_app::requests::waiting::{self, WaitingReason};
use overnight_app::requests::{BrowseQuery, browse};
use overnight_app::{accounts, left_behind};
use overnight_config::{Config, EngineConfig, RetiresAt};
use overnight_domain::ids::RequestId;
use overnight_domain::requests::RequestStatus;
use overnight_testkit::engine::{Recording, SimConfig};

use super::reloading::slow;
use super::{Rig, create_for_model, until};
use crate::support::Log;

/// Renames the model `sim` to `new`, with the old name as an alias.
fn rename(config: &mut Config) {
    config.models[0].name = "new".to_owned();
    config.models[0].aliases = vec!["sim".to_owned()];
}

/// Engines that serve the model by its new name.
fn of_new(engines: &[EngineConfig]) -> Vec<EngineConfig> {
    let models = || [("new".to_owned(), "sim-model".to_owned())].into();
    engines.iter().map(|engine| EngineConfig { models: models(), ..engine.clone() }).collect()
}

fn in_order(config: SimConfig) -> SimConfig {
    SimConfig { recording: Recording::Order, ..config }
}

/// Reloads without engines, so that no waiting request is sent.
async fn without_engines(rig: &Rig) -> Vec<EngineConfig> {
    let engines = rig.services.config().engines.clone();
    rig.reload(|config| config.engines.clear()).await.unwrap();
    engines
}

async fn create(rig: &Rig, model: &str, content: &str) -> RequestId {
    create_for_model(&rig.services, rig.account, model, content).await
}

/// The number of requests in a list filtered by this model.
async fn listed(rig: &Rig, model: &str) -> usize {
    let query = BrowseQuery { model: Some(model.to_owned()), ..BrowseQuery::default() };
    let page = browse(&rig.services, rig.account, &query).await.unwrap();
    assert!(page.rows.iter().all(|row| row.model == model), "{model}");
    page.rows.len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_under_the_old_name_of_a_model_is_served_by_its_new_one() {
    let rig = Rig::start(vec![in_order(SimConfig::default())]).await;
    let engines = without_engines(&rig).await;
    let mut ids = Vec::new();
    for number in 0..3 {
        ids.push(create(&rig, "sim", &format!("before {number}")).await);
    }
    rig.reload(rename).await.unwrap();
    assert_eq!(left_behind(&rig.services.store, &rig.services.config()).await.unwrap(), []);
    for number in 0..2 {
        ids.push(create(&rig, "sim", &format!("alias {number}")).await);
        ids.push(create(&rig, "new", &format!("name {number}")).await);
    }
    until("it waits for an engine", async || {
        rig.summary(ids[0]).await.1.waiting.filter(|reason| *reason == WaitingReason::NoEngine)
    })
    .await;

    rig.reload(|config| config.engines = of_new(&engines)).await.unwrap();
    rig.all_completed(&ids).await;
    assert_eq!(rig.engines[0].arrivals().len(), 7, "each was sent once");
    for (id, model) in [(ids[0], "sim"), (ids[3], "sim"), (ids[4], "new")] {
        let record = rig.record(id).await;
        let body = String::from_utf8(record.body.to_vec()).unwrap();
        assert!(body.starts_with(&format!(r#"{{"model":"{model}""#)), "{body}");
    }
    let found = (listed(&rig, "sim").await, listed(&rig, "new").await);
    assert_eq!(found, (5, 2), "lists go by the name that was sent");
    rig.finish().await;
}

/// Single-threaded, because the log is recorded for one thread.
#[tokio::test]
async fn what_waits_for_a_model_that_was_removed_is_told_and_served_when_its_name_is_back() {
    let log = Log::keep();
    let rig = Rig::start(vec![in_order(SimConfig::default())]).await;
    let engines = without_engines(&rig).await;
    let ids = [create(&rig, "sim", "one").await, create(&rig, "sim", "two").await];
    until("both wait in the queue", async || {
        (waiting::count(&rig.services, "sim").await.unwrap() >= 2).then_some(())
    })
    .await;
    rig.reload(|config| config.models[0].name = "other".to_owned()).await.unwrap();
    let expected = [("sim".to_owned(), 2)];
    assert_eq!(left_behind(&rig.services.store, &rig.services.config()).await.unwrap(), expected);
    let lines = log.lines_with("requests wait for a model that is not configured");
    assert!(lines.len() == 1 && lines[0].contains("model=\"sim\" waiting=2"), "{lines:?}");

    rig.reload(|config| {
        rename(config);
        config.engines = of_new(&engines);
    })
    .await
    .unwrap();
    rig.all_completed(&ids).await;
    assert_eq!(log.lines_with("requests wait for a model that is not configured").len(), 1);
    rig.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_for_a_model_that_retires_is_served() {
    let rig = Rig::start(vec![in_order(SimConfig::default())]).await;
    let engines = without_engines(&rig).await;
    let id = create(&rig, "sim", "before").await;
    let now = rig.services.clock.now();
    let changed =
        rig.reload(|config| config.models[0].retires_at = Some(RetiresAt(now))).await.unwrap().changed;
    assert_eq!(changed, ["models (changed `sim`)"]);
    let body = r#"{"request_body":{"model":"sim","messages":[{"role":"user","content":"after"}]}}"#;
    let refused = overnight_app::requests::create(
        &rig.services,
        rig.account,
        overnight_app::requests::Sent::native(body),
    )
    .await;
    let Err(refused) = refused else { panic!("it is taken") };
    let refused = refused.to_string();
    assert!(refused.contains("takes no new requests since"), "{refused}");
    rig.reload(|config| config.engines = engines.clone()).await.unwrap();
    rig.completed(id).await;
    assert_eq!(rig.engines[0].arrivals(), ["before"]);
    rig.finish().await;
}

/// An alias is not a second queue: an account that uses both names has one turn.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_that_uses_both_names_of_a_model_gets_no_more_turns_than_one_that_uses_one() {
    let rig = Rig::start(vec![in_order(slow(5))]).await;
    let mut engines = without_engines(&rig).await;
    rig.reload(rename).await.unwrap();
    let honest = accounts::create(&rig.services, "honest").await.unwrap().key;
    let mut ids = Vec::new();
    for number in 0..40 {
        create(&rig, "sim", &format!("greedy alias {number}")).await;
        create(&rig, "new", &format!("greedy name {number}")).await;
    }
    for number in 0..40 {
        ids.push(create_for_model(&rig.services, honest, "new", &format!("honest {number}")).await);
    }
    engines[0].max_concurrency = 1;
    engines[0].first_concurrency = 1;
    rig.reload(|config| config.engines = of_new(&engines)).await.unwrap();
    for id in ids {
        assert_eq!(rig.ended_of(honest, id).await.summary.state.status(), RequestStatus::Completed);
    }
    let arrivals = rig.engines[0].arrivals();
    let last = arrivals.iter().rposition(|content| content.starts_with("honest")).unwrap();
    let greedy = arrivals[..last].iter().filter(|content| content.starts_with("greedy")).count();
    let is_so = (36..=44).contains(&greedy);
    assert!(is_so, "turns are by account: {greedy} of the other's came before the last of 40");
    rig.finish().await;
}
