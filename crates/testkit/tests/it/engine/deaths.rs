//! The engine crashes, restarts and stops.

use std::io::ErrorKind;

use overnight_testkit::engine::{CostModel, SimConfig, SimEngine, Speed, serve};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::client::{Client, in_time, pause, until};

#[tokio::test]
async fn a_death_loses_connections_cache_and_metrics() {
    let config = SimConfig { speed: Speed::Modelled(CostModel::default()), ..SimConfig::default() };
    let engine = SimEngine::start(config).unwrap();
    let client = Client::of(&engine);
    client.ask(&"a long prompt ".repeat(20)).await.unwrap();
    assert!(engine.model_stats().unwrap().prompt_tokens_total > 0);
    let hanging = tokio::spawn({
        let client = client.clone();
        async move { client.ask("[[sim:hang]]").await }
    });
    until(|| engine.counters().in_flight == 1).await;
    engine.die(60_000);
    assert!(hanging.await.unwrap().is_err());
    until(|| engine.model_stats().unwrap().prompt_tokens_total == 0).await;
    let refused = TcpStream::connect(engine.address()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    assert_eq!((engine.counters().killed, engine.counters().aborted), (1, 0));
}

#[tokio::test]
async fn a_dead_engine_comes_back_on_its_port() {
    let engine = SimEngine::start(SimConfig::default()).unwrap();
    let client = Client::of(&engine);
    let prompt = "[[sim:die=20 x1]]";
    assert!(client.ask(prompt).await.is_err());
    let answer = in_time(async {
        loop {
            if let Ok(answer) = client.ask(prompt).await {
                break answer;
            }
            pause(5).await;
        }
    });
    assert_eq!(answer.await.status, 200);
    assert_eq!((engine.attempts_of(prompt), engine.counters().killed), (2, 1));
}

#[tokio::test]
async fn after_a_stop_nobody_listens() {
    let engine = SimEngine::start(SimConfig::default()).unwrap();
    let client = Client::of(&engine);
    client.ask("x").await.unwrap();
    let address = engine.address();
    engine.stop().await;
    assert!(client.ask("x").await.is_err());
    assert_eq!(TcpStream::connect(address).await.unwrap_err().kind(), ErrorKind::ConnectionRefused);
}

#[tokio::test]
async fn a_dead_engine_can_be_stopped() {
    let engine = SimEngine::start(SimConfig::default()).unwrap();
    engine.die(60_000);
    in_time(engine.stop()).await;
}

#[tokio::test]
async fn it_serves_on_a_listener_of_the_callers() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(serve(SimConfig::default(), listener));
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET /health HTTP/1.1\r\nhost: sim\r\n\r\n").await.unwrap();
    let mut head = [0; 15];
    stream.read_exact(&mut head).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 200 OK");
    serving.abort();
    assert!(serving.await.unwrap_err().is_cancelled());
    in_time(stream.read_to_end(&mut Vec::new())).await.unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}
