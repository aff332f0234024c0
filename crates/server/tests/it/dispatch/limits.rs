//! How many requests an engine is sent at once, where it can work on fewer than the settings say.

use overnight_testkit::engine::{CostModel, SimConfig, Speed, Tunables};

use overnight_server::app::engines;
use serde_json::json;
use tokio::task::JoinSet;

use super::{PATIENCE, Rig, Setup, eventually, pause};
use crate::support::Client;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_limit_falls_to_what_an_engine_works_on_and_nothing_is_refused() {
    let cost = CostModel { output_tokens_per_second: 40.0, ..CostModel::default() };
    let tunables = Tunables { running_max: 8, ..Tunables::default() };
    let config = SimConfig { speed: Speed::Modelled(cost), tunables, ..SimConfig::default() };
    let rig = Rig::start(vec![config]).await;
    let mut ids = Vec::new();
    for number in 0..240 {
        ids.push(rig.create(&format!("request {number}")).await);
    }
    let stats = || rig.engines[0].model_stats().expect("a modelled engine");
    // The settings say 16 at most, and the engine works on 8.
    eventually("all that may be sent is sent", || stats().num_requests_waiting > 4).await;
    eventually("hardly more is sent than is worked on", || {
        stats().num_requests_waiting <= 3 && stats().num_requests_running == 8
    })
    .await;
    rig.engines[0].tune(|tunables| tunables.running_max = 256);
    for id in ids {
        assert_eq!(rig.ended(id).await.attempts.len(), 0);
    }
    rig.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_co_located_engine_is_sent_its_share_and_no_more() {
    let cost = CostModel { output_tokens_per_second: 40.0, ..CostModel::default() };
    let config = SimConfig { speed: Speed::Modelled(cost), ..SimConfig::default() };
    let setup = Setup { engine_settings: "colocated_share = \"25%\"", ..Setup::default() };
    let rig = Rig::start_all(vec![config], setup, async |_, _| {}).await;
    let mut ids = Vec::new();
    for number in 0..60 {
        ids.push(rig.create(&format!("request {number}")).await);
    }
    for id in ids {
        assert_eq!(rig.ended(id).await.attempts.len(), 0);
    }
    // The settings say 16 at most, for everybody.
    assert_eq!(rig.engines[0].counters().in_flight_max, 4);
    rig.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_co_located_engine_is_left_to_its_online_traffic_while_that_waits() {
    let cost = CostModel { output_tokens_per_second: 40.0, ..CostModel::default() };
    let tunables = Tunables { running_max: 4, ..Tunables::default() };
    let config = SimConfig { speed: Speed::Modelled(cost), tunables, ..SimConfig::default() };
    let setup = Setup { engine_settings: "colocated_share = \"50%\"", ..Setup::default() };
    let rig = Rig::start_all(vec![config], setup, async |_, _| {}).await;
    let mut ids = Vec::new();
    for number in 0..120 {
        ids.push(rig.create(&format!("request {number}")).await);
    }
    until_limit(&rig, |limit| limit > 0).await;

    let mut online = JoinSet::new();
    for number in 0..12 {
        let client = Client::new(rig.engines[0].address(), None);
        let messages = json!([{"role": "user", "content": format!("online {number}")}]);
        let body = json!({"model": "sim-model", "max_tokens": 32, "messages": messages});
        online.spawn(async move {
            loop {
                client.post("/v1/chat/completions", &body).await;
            }
        });
    }
    until_limit(&rig, |limit| limit == 0).await;
    eventually("ours are finished", || rig.engines[0].counters().in_flight <= 12).await;
    online.shutdown().await;
    for id in ids {
        assert_eq!(rig.ended(id).await.attempts.len(), 0);
    }
    rig.finish().await;
}

/// Waits until so many requests may be in flight at the engine.
async fn until_limit(rig: &Rig, holds: impl Fn(i64) -> bool) {
    let limit = async || engines::list(&rig.services).await.expect("reports")[0].engine.max_concurrency;
    let wait = async {
        while !holds(limit().await) {
            pause().await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.expect("the limit changes");
}
