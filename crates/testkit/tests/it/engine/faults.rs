//! Every fault as its client observes it.

use std::io::ErrorKind;

use overnight_testkit::engine::{Fault, FaultRates, Recording, SimConfig, SimEngine, echo_of};
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use super::client::{Client, ask_and_leave, ask_raw, raw_request, until};

fn start() -> (SimEngine, Client) {
    let engine = SimEngine::start(SimConfig::default()).unwrap();
    let client = Client::of(&engine);
    (engine, client)
}

#[tokio::test]
async fn a_status_is_answered_as_asked_and_then_the_prompt_succeeds() {
    let (engine, client) = start();
    for status in [400, 401, 403, 404, 408, 413, 422, 425, 429, 500, 502, 503, 504] {
        let prompt = format!("[[sim:status={status} x2]]");
        for _ in 0..2 {
            let answer = client.ask(&prompt).await.unwrap();
            assert_eq!(answer.status, status);
            assert_eq!(answer.json()["error"]["code"], status);
            assert_eq!(answer.retry_after(), None);
        }
        assert!(client.ask(&prompt).await.unwrap().content().starts_with(&echo_of(&prompt)));
        assert_eq!(engine.attempts_of(&prompt), 3);
    }
    assert_eq!(client.ask("[[sim:status=429/7]]").await.unwrap().retry_after(), Some("7"));
    assert_eq!((engine.counters().faulted, engine.counters().answered), (27, 13));
}

#[tokio::test]
async fn connections_are_reset_before_and_after_the_headers() {
    let (engine, client) = start();
    let (received, ended) = ask_raw(&engine, "[[sim:reset]]").await;
    assert_eq!((received.as_str(), ended.unwrap_err().kind()), ("", ErrorKind::ConnectionReset));
    let (received, ended) = ask_raw(&engine, "[[sim:reset_after_headers]]").await;
    assert!(received.starts_with("HTTP/1.1 200 OK\r\n") && received.contains("chatcmpl-"));
    assert_eq!(ended.unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert!(client.ask("[[sim:reset]]").await.is_err());
    assert!(client.ask("[[sim:reset_after_headers]]").await.is_err());
    assert_eq!((engine.counters().faulted, engine.counters().aborted), (4, 0));
}

#[tokio::test]
async fn a_truncated_body_closes_short_of_its_length() {
    let (engine, client) = start();
    let (received, ended) = ask_raw(&engine, "[[sim:truncated]]").await;
    ended.unwrap();
    let (head, body) = received.split_once("\r\n\r\n").unwrap();
    let promised = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    assert_eq!(promised.parse::<usize>().unwrap() / 2, body.len());
    assert!(client.ask("[[sim:truncated]]").await.is_err());
}

#[tokio::test]
async fn a_hanging_request_is_counted_as_aborted_when_its_client_leaves() {
    let (engine, _) = start();
    for (aborted, marker) in [(1, "[[sim:hang]]"), (2, "[[sim:hang_mid_body]]"), (3, "[[sim:drip=1000]]")] {
        ask_and_leave(&engine, marker, 1).await;
        until(|| engine.counters().aborted == aborted).await;
        assert_eq!(engine.counters().in_flight, 0);
    }
}

#[tokio::test]
async fn a_dropped_connection_is_noticed_at_once() {
    let (engine, _) = start();
    let mut stream = TcpStream::connect(engine.address()).await.unwrap();
    stream.write_all(raw_request("[[sim:delay=60000]]").as_bytes()).await.unwrap();
    until(|| engine.counters().in_flight == 1).await;
    drop(stream);
    until(|| engine.counters().aborted == 1).await;
}

#[tokio::test]
async fn slow_answers_are_right() {
    let (engine, client) = start();
    for prompt in ["[[sim:delay=5]]", "[[sim:drip=1]]"] {
        let answer = client.ask(prompt).await.unwrap();
        assert!(answer.content().starts_with(&echo_of(prompt)));
    }
    assert_eq!(engine.counters().faulted, 2);
    let (received, _) = tokio::join!(ask_raw(&engine, "[[sim:drip=1]]"), async {
        until(|| engine.counters().faulted == 3).await;
        engine.die(0);
    });
    assert!(received.0.contains("transfer-encoding: chunked"));
}

#[tokio::test]
async fn bodies_go_wrong_as_asked() {
    let (_engine, client) = start();
    let ask = async |name: &str| client.ask(&format!("[[sim:{name}]]")).await.unwrap();
    assert!(serde_json::from_slice::<Value>(&ask("bad_json").await.body).is_err());
    let huge = ask("huge").await;
    assert!(huge.body.len() > 16 << 20);
    assert_eq!(huge.json()["object"], "chat.completion");
    let pretty = ask("pretty").await;
    assert!(pretty.body.windows(3).any(|bytes| bytes == b"\r\n\t"));
    assert!(pretty.content().starts_with(&echo_of("[[sim:pretty]]")));
    let lie = ask("lie").await;
    assert_eq!(lie.json()["model"], "another-model");
    assert!(lie.content().starts_with("echo:") && !lie.content().starts_with(&echo_of("[[sim:lie]]")));
    let inflated = ask("usage_inflated").await.json()["usage"]["completion_tokens"].as_u64();
    assert!(inflated.unwrap() > 1_000_000);
}

#[tokio::test]
async fn rates_strike_the_same_attempts_whatever_their_order() {
    let strike = async |prompts: Vec<u32>| {
        let config = SimConfig { seed: 5, recording: Recording::Attempts, ..SimConfig::default() };
        let engine = SimEngine::start(config).unwrap();
        let limited = Fault::Status { code: 429, retry_after_s: None };
        let failed = Fault::Status { code: 500, retry_after_s: None };
        engine.tune(|tunables| tunables.faults = FaultRates::none().with(limited, 0.3).with(failed, 0.2));
        let client = Client::of(&engine);
        let mut seen = Vec::new();
        for prompt in prompts {
            seen.push((prompt, client.ask(&format!("prompt {prompt}")).await.unwrap().status));
        }
        engine.tune(|tunables| tunables.faults = FaultRates::none());
        assert_eq!(client.ask("prompt 0").await.unwrap().status, 200);
        seen.sort_unstable();
        seen
    };
    let seen = strike((0..300).collect()).await;
    assert_eq!(seen, strike((0..300).rev().collect()).await);
    let count = |status| seen.iter().filter(|(_, seen)| *seen == status).count();
    assert!((60..=120).contains(&count(429)) && (35..=85).contains(&count(500)));
}
