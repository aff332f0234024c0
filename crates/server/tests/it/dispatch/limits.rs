//! The number of concurrent requests at an engine that can run fewer than the settings allow.

use overnight_app::engines;
use overnight_domain::ids::RequestId;
use overnight_testkit::engine::{CostModel, SimConfig, Speed, Tunables};
use serde_json::json;
use tokio::task::JoinSet;

use super::{Rig, Setup, eventually, feed, until};
use crate::support::Client;

/// A slow engine that runs `running_max` requests at a time.
fn slow(running_max: usize) -> SimConfig {
    let cost = CostModel { output_tokens_per_second: 40.0, ..CostModel::default() };
    let tunables = Tunables { running_max, ..Tunables::default() };
    SimConfig { speed: Speed::Modelled(cost), tunables, ..SimConfig::default() }
}

/// All requests complete without a failed attempt.
async fn all_smooth(rig: &Rig, ids: &[RequestId]) {
    for id in ids {
        assert_eq!(rig.ended(*id).await.attempts.len(), 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_limit_falls_to_what_an_engine_works_on_and_nothing_is_refused() {
    let rig = Rig::start(vec![slow(8)]).await;
    let mut ids = rig.create_all(240, "request").await;
    let stats = || rig.engines[0].model_stats().expect("a modelled engine");
    // The settings allow 16, and the engine runs 8. On a busy machine the limit may have fallen before this test looks.
    eventually("all that may be sent is sent", || rig.engines[0].counters().in_flight_max > 12).await;
    let falls = eventually("hardly more is sent than is worked on", || {
        stats().num_requests_waiting <= 3 && stats().num_requests_running == 8
    });
    // However late the limit falls.
    tokio::select! {
        () = falls => {}
        never = feed(&rig, &mut ids, async |number| rig.create(&format!("more {number}")).await) => never,
    }
    rig.engines[0].tune(|tunables| tunables.running_max = 256);
    all_smooth(&rig, &ids).await;
    rig.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_co_located_engine_is_sent_its_share_and_no_more() {
    let setup = Setup { engine_settings: "colocated_share = \"25%\"", ..Setup::default() };
    let rig = Rig::start_all(vec![slow(Tunables::default().running_max)], setup, async |_, _| {}).await;
    let ids = rig.create_all(60, "request").await;
    all_smooth(&rig, &ids).await;
    // The settings allow 16 for all callers together.
    assert_eq!(rig.engines[0].counters().in_flight_max, 4);
    rig.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_co_located_engine_is_left_to_its_online_traffic_while_that_waits() {
    let setup = Setup { engine_settings: "colocated_share = \"50%\"", ..Setup::default() };
    let rig = Rig::start_all(vec![slow(4)], setup, async |_, _| {}).await;
    let ids = rig.create_all(120, "request").await;
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
    all_smooth(&rig, &ids).await;
    rig.finish().await;
}

/// Waits for a limit of in-flight requests at the engine.
async fn until_limit(rig: &Rig, holds: impl Fn(i64) -> bool) {
    let limit = async || engines::list(&rig.services).await.expect("reports")[0].engine.max_concurrency;
    until("the limit changes", async || holds(limit().await).then_some(())).await;
}
