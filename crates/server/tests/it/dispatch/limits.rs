//! How many requests an engine is sent at once, where it can work on fewer than the settings say.

use overnight_testkit::engine::{CostModel, SimConfig, Speed, Tunables};

use super::{Rig, eventually};

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
