//! Answers of a healthy engine.

use overnight_testkit::engine::{CostModel, Recording, SimConfig, SimEngine, Speed, Tunables, echo_of};
use serde_json::json;

use super::client::Client;

#[tokio::test]
async fn every_request_gets_its_own_answer_over_one_connection() {
    let engine = SimEngine::start(SimConfig { recording: Recording::Order, ..SimConfig::default() }).unwrap();
    let client = Client::of(&engine);
    for prompt in ["a", "b", "a"] {
        let answer = client.ask(prompt).await.unwrap();
        assert_eq!(answer.status, 200);
        assert!(answer.content().starts_with(&echo_of(prompt)));
        assert_eq!(answer.json()["object"], "chat.completion");
        assert_eq!(answer.json()["model"], "sim-model");
    }
    assert_eq!(engine.arrivals(), ["a", "b", "a"]);
    assert_eq!((engine.attempts_of("a"), engine.attempts_of("b"), engine.attempts().len()), (2, 1, 2));
    let counters = engine.counters();
    assert_eq!((counters.connections, counters.arrived, counters.answered), (1, 3, 3));
    assert_eq!((counters.in_flight, counters.in_flight_max), (0, 1));
}

#[tokio::test]
async fn the_seed_fixes_the_answer_and_its_length() {
    let ask = async |seed| {
        let config = SimConfig { seed, completion_tokens: 8..=200, ..SimConfig::default() };
        let engine = SimEngine::start(config).unwrap();
        let answer = Client::of(&engine).ask("hello").await.unwrap().json();
        (answer["choices"].clone(), answer["usage"].clone())
    };
    let first = ask(1).await;
    assert_eq!(first, ask(1).await);
    assert_ne!(first, ask(2).await);
}

#[tokio::test]
async fn limits_and_choices_show_in_the_usage() {
    let engine = SimEngine::start(SimConfig::default()).unwrap();
    let client = Client::of(&engine);
    let body = json!({"model": "sim-model", "n": 3, "max_tokens": 5, "messages": [{"role": "user", "content": "x"}]});
    let answer = client.chat(&body).await.unwrap().json();
    assert_eq!(answer["choices"].as_array().unwrap().len(), 3);
    assert_eq!(answer["choices"][2]["finish_reason"], "length");
    assert_eq!(answer["usage"]["completion_tokens"], 15);
    let longer = client.ask("[[sim:tokens=40]]").await.unwrap().json();
    assert_eq!(longer["usage"]["completion_tokens"], 40);
}

#[tokio::test]
async fn what_is_not_served_is_refused() {
    let config = SimConfig {
        context_tokens: 100,
        tunables: Tunables { api_key: Some("secret".into()), ..Tunables::default() },
        ..SimConfig::default()
    };
    let engine = SimEngine::start(config).unwrap();
    let stranger = Client::of(&engine);
    assert_eq!(stranger.ask("x").await.unwrap().status, 401);
    assert_eq!(stranger.get("/models").await.status, 401);
    assert_eq!(stranger.clone().with_key("other").ask("x").await.unwrap().status, 401);
    assert_eq!(stranger.get("/health").await.status, 200);

    let client = stranger.with_key("secret");
    assert_eq!(client.ask("x").await.unwrap().status, 200);
    let chat = async |fields: serde_json::Value| {
        let mut body = json!({"model": "sim-model", "messages": [{"role": "user", "content": "x"}]});
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        client.chat(&body).await.unwrap().status
    };
    assert_eq!(chat(json!({"model": "other"})).await, 404);
    assert_eq!(chat(json!({"stream": true})).await, 400);
    assert_eq!(chat(json!({"max_tokens": 99})).await, 400);
    assert_eq!(chat(json!({"messages": []})).await, 400);
    assert_eq!(client.ask("[[sim:hnag]]").await.unwrap().status, 400);
    assert_eq!(client.send("POST", "/chat/completions", "{".into()).await.unwrap().status, 400);
    assert_eq!(client.get("/chat/completions").await.status, 405);
    assert_eq!(client.get("/images/generations").await.status, 404);
    assert_eq!((engine.counters().arrived, engine.counters().rejected), (1, 9));
}

#[tokio::test]
async fn settings_change_while_it_runs() {
    let engine = SimEngine::start(SimConfig::default()).unwrap();
    let client = Client::of(&engine);
    assert_eq!(client.get("/models").await.json()["data"][0]["id"], "sim-model");
    engine.tune(|tunables| {
        tunables.models = vec!["a \"b\"".into()];
        tunables.healthy = false;
        tunables.reports_metrics = false;
    });
    assert_eq!(client.get("/models").await.json()["data"][0]["id"], "a \"b\"");
    assert_eq!(client.ask("x").await.unwrap().status, 404);
    assert_eq!(client.get("/health").await.status, 503);
    assert_eq!(client.get("/metrics").await.status, 404);
    let body = json!({"model": "a \"b\"", "messages": [{"role": "user", "content": "x"}]});
    assert_eq!(client.chat(&body).await.unwrap().json()["model"], "a \"b\"");
}

#[tokio::test]
async fn the_metrics_speak_of_the_prefix_cache() {
    let cost = CostModel {
        prompt_tokens_per_second: 1e6,
        output_tokens_per_second: 1e4,
        kv_cache_tokens: 4_096,
        ..CostModel::default()
    };
    let engine =
        SimEngine::start(SimConfig { speed: Speed::Modelled(cost), ..SimConfig::default() }).unwrap();
    let client = Client::of(&engine);
    let prefix = "The same long document, over and over. ".repeat(40);
    for question in ["one?", "two?"] {
        let answer = client.ask(&format!("{prefix}{question}")).await.unwrap();
        let cached = answer.json()["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap();
        assert_eq!(cached > 300, question == "two?");
    }
    let text = String::from_utf8(client.get("/metrics").await.body.to_vec()).unwrap();
    let value = |name: &str| -> f64 {
        let line = text.lines().find(|line| line.starts_with(&format!("vllm:{name}{{"))).unwrap();
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    assert!(value("prefix_cache_hits_total") > 300.0);
    assert!(value("prefix_cache_queries_total") > 2.0 * value("prefix_cache_hits_total"));
    assert!((value("generation_tokens_total") - 32.0).abs() < f64::EPSILON);
    for idle in
        ["num_requests_running", "num_requests_waiting", "kv_cache_usage_perc", "num_preemptions_total"]
    {
        assert!(value(idle).abs() < f64::EPSILON, "{idle}");
    }
    assert!(text.contains(
        "vllm:request_success_total{engine=\"0\",model_name=\"sim-model\",finished_reason=\"stop\"} 2"
    ));
    assert!(text.contains("num_gpu_blocks=\"256\""));
    assert_eq!(engine.model_stats().unwrap().generation_tokens_total, 32);
}
