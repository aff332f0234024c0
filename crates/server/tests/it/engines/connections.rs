//! Connections to engines.

use std::time::Duration;

use overnight_domain::scheduler::AttemptError;
use overnight_testkit::engine::Counters;

use super::{ask, at, config, impatient_client_of, simulate, simulate_with_client, start};

async fn counted(engine: &overnight_testkit::engine::SimEngine, meant: impl Fn(&Counters) -> bool) {
    let wait = async {
        while !meant(&engine.counters()) {
            tokio::task::yield_now().await;
        }
    };
    let outcome = tokio::time::timeout(Duration::from_secs(20), wait).await;
    outcome.unwrap_or_else(|_| panic!("never counted: {:?}", engine.counters()));
}

#[tokio::test]
async fn a_connection_serves_one_request_after_another() {
    let (engine, client) = simulate_with_client(|_| {});
    for number in 0..20 {
        ask(&client, &format!("number {number}")).await.unwrap();
    }
    assert_eq!((engine.counters().connections, engine.counters().answered), (1, 20));
}

#[tokio::test]
async fn an_attempt_that_is_dropped_stops_the_engine() {
    let (engine, client) = simulate_with_client(|_| {});
    let attempt = tokio::spawn(async move { ask(&client, "[[sim:hang]]").await });
    counted(&engine, |counters| counters.in_flight == 1).await;
    attempt.abort();
    counted(&engine, |counters| counters.aborted == 1 && counters.in_flight == 0).await;
}

#[tokio::test]
async fn an_attempt_that_is_timed_out_stops_the_engine() {
    let engine = simulate(|_| {});
    ask(&impatient_client_of(&engine), "[[sim:hang]]").await.unwrap_err();
    counted(&engine, |counters| counters.aborted == 1 && counters.in_flight == 0).await;
}

#[tokio::test]
async fn a_port_that_nobody_listens_on_is_a_failed_connection() {
    let (engine, client) = simulate_with_client(|_| {});
    ask(&client, "hello").await.unwrap();
    engine.stop().await;
    let error = ask(&client, "hello").await.unwrap_err();
    assert!(matches!(&error, AttemptError::Connect(words) if words.contains("refused")), "{error:?}");
}

#[tokio::test]
async fn an_engine_that_died_is_used_again_when_it_is_back() {
    let (_engine, client) = simulate_with_client(|_| {});
    let error = ask(&client, "[[sim:die=100 x1]]").await.unwrap_err();
    assert!(matches!(error, AttemptError::Reset(_)), "{error:?}");
    while let Err(error) = ask(&client, "again").await {
        assert!(matches!(error, AttemptError::Connect(_) | AttemptError::Reset(_)), "{error:?}");
    }
}

#[tokio::test]
async fn many_attempts_run_at_once() {
    let (engine, client) = simulate_with_client(|tunables| tunables.base_latency_ms = 100);
    let attempts = (0..64).map(|number| {
        let client = client.clone();
        tokio::spawn(async move { ask(&client, &format!("number {number}")).await })
    });
    for attempt in attempts.collect::<Vec<_>>() {
        attempt.await.unwrap().unwrap();
    }
    assert!(engine.counters().in_flight_max > 8, "{:?}", engine.counters());
}

#[tokio::test]
async fn a_name_that_is_not_known_is_a_failed_connection() {
    let engines = start(&config(&at("http://nobody.invalid/v1")));
    let error = ask(&engines.list()[0], "hello").await.unwrap_err();
    assert!(matches!(error, AttemptError::Connect(_)), "{error:?}");
}
