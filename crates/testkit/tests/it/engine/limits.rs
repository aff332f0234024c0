//! Limits of running and waiting requests, and refusals.

use futures_util::future::join_all;
use overnight_testkit::engine::{CostModel, Overload, SimConfig, SimEngine, Speed, Tunables};

use super::client::{Client, ask_and_leave, until};

/// An engine whose completions last longer than any test.
fn slow(running_max: usize, waiting_max: usize, speed: Speed) -> SimConfig {
    let overload = Overload { status: 503, retry_after_s: Some(3) };
    let base_latency_ms = if speed == Speed::Instant { 600_000 } else { 0 };
    SimConfig {
        speed,
        completion_tokens: 100_000..=100_000,
        tunables: Tunables { running_max, waiting_max, overload, base_latency_ms, ..Tunables::default() },
        ..SimConfig::default()
    }
}

async fn ask_all(client: Client, count: usize) -> Vec<u16> {
    let client = &client;
    let asked =
        (0..count).map(|number| async move { client.ask(&format!("prompt {number}")).await.unwrap().status });
    join_all(asked).await
}

async fn refuses_past_its_places(speed: Speed) {
    let engine = SimEngine::start(slow(2, 3, speed)).unwrap();
    let client = Client::of(&engine);
    let taken = tokio::spawn(ask_all(client.clone(), 5));
    until(|| engine.counters().in_flight == 5).await;
    let text = String::from_utf8(client.get("/metrics").await.body.to_vec()).unwrap();
    assert!(text.contains("vllm:num_requests_waiting{engine=\"0\",model_name=\"sim-model\"} "));
    for _ in 0..4 {
        let refused = client.ask("one more").await.unwrap();
        assert_eq!((refused.status, refused.retry_after()), (503, Some("3")));
    }
    taken.abort();
    until(|| engine.counters().in_flight == 0).await;
    let counters = engine.counters();
    assert_eq!((counters.aborted, counters.refused, counters.in_flight_max), (5, 4, 6));
}

#[tokio::test]
async fn an_instant_engine_refuses_past_its_places() {
    refuses_past_its_places(Speed::Instant).await;
}

#[tokio::test]
async fn a_modelled_engine_refuses_past_its_places() {
    refuses_past_its_places(Speed::Modelled(CostModel::default())).await;
}

#[tokio::test]
async fn more_places_let_the_waiting_in() {
    let mut config = slow(0, 5, Speed::Instant);
    config.tunables.base_latency_ms = 0;
    let engine = SimEngine::start(config).unwrap();
    let client = Client::of(&engine);
    let waiting = tokio::spawn(ask_all(client.clone(), 3));
    until(|| engine.counters().in_flight == 3).await;
    let text = String::from_utf8(client.get("/metrics").await.body.to_vec()).unwrap();
    assert!(text.contains("vllm:num_requests_waiting{engine=\"0\",model_name=\"sim-model\"} 3"));
    engine.tune(|tunables| tunables.running_max = 3);
    assert_eq!(waiting.await.unwrap(), [200, 200, 200]);
}

#[tokio::test]
async fn an_abort_frees_the_place_in_the_batch() {
    let engine = SimEngine::start(slow(1, 5, Speed::Modelled(CostModel::default()))).unwrap();
    ask_and_leave(&engine, "forever", 1).await;
    until(|| engine.counters().aborted == 1).await;
    let stats = engine.model_stats().unwrap();
    assert_eq!((stats.num_requests_running, stats.num_requests_waiting), (0, 0));
    let answer = Client::of(&engine).ask("short [[sim:tokens=2]]").await.unwrap();
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn a_modelled_engine_batches_what_comes_together() {
    let mut config =
        slow(64, 64, Speed::Modelled(CostModel { output_tokens_per_second: 1e4, ..CostModel::default() }));
    config.completion_tokens = 20..=40;
    let engine = SimEngine::start(config).unwrap();
    assert_eq!(ask_all(Client::of(&engine), 32).await, [200; 32]);
    assert_eq!(engine.counters().answered, 32);
}

#[tokio::test]
async fn what_the_cache_could_never_hold_is_refused() {
    let config = slow(1, 5, Speed::Modelled(CostModel { kv_cache_tokens: 64, ..CostModel::default() }));
    let engine = SimEngine::start(config).unwrap();
    assert_eq!(Client::of(&engine).ask(&"long ".repeat(100)).await.unwrap().status, 400);
}
