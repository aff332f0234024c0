//! Nodes restart one after the other without an effect on clients.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use overnight_client::Client;
use overnight_wire::native::requests::{RequestFilter, RequestStatus};
use tokio::task::JoinSet;

use super::{AT_ONCE, CONNECTIONS, World, engine_that_takes, wait_until};
use crate::crashes::process::{is_ready, pause};

/// Sends calls to ready nodes like a load balancer; returns the numbers of calls and of failures.
async fn balance(nodes: Vec<(String, Client)>, stop: Arc<AtomicBool>) -> (usize, usize) {
    let ready: Arc<Vec<AtomicBool>> = Arc::new(nodes.iter().map(|_| AtomicBool::new(true)).collect());
    let mut tasks = JoinSet::new();
    for (place, (address, _)) in nodes.iter().enumerate() {
        let (address, ready, stop) = (address.clone(), Arc::clone(&ready), Arc::clone(&stop));
        tasks.spawn(async move {
            while !stop.load(Ordering::Acquire) {
                ready[place].store(is_ready(&address).await.unwrap_or(false), Ordering::Release);
                pause(50).await;
            }
            (0, 0)
        });
    }
    for lane in 0..CONNECTIONS {
        let (nodes, ready, stop) = (nodes.clone(), Arc::clone(&ready), Arc::clone(&stop));
        tasks.spawn(async move {
            let (mut sent, mut failed) = (0, 0);
            while !stop.load(Ordering::Acquire) {
                let place = (lane + sent) % nodes.len();
                sent += 1;
                if ready[place].load(Ordering::Acquire) {
                    let body = r#"{"request_body":{"model":"sim","max_tokens":4,"messages":[{"role":"user","content":"x"}]}}"#;
                    if let Err(error) = nodes[place].1.create_request_raw(body.to_owned()).await {
                        eprintln!("a call failed: {error}");
                        failed += 1;
                    }
                }
                pause(2).await;
            }
            (sent, failed)
        });
    }
    let mut sum = (0, 0);
    while let Some(ended) = tasks.join_next().await {
        let (sent, failed) = ended.expect("a lane ends");
        sum = (sum.0 + sent, sum.1 + failed);
    }
    sum
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rolling_restart_fails_no_call_and_loses_no_work() {
    let world = World::new(2, &engine_that_takes(200));
    let mut nodes = vec![world.start("a", AT_ONCE).await, world.start("b", AT_ONCE).await];
    let key = nodes[0].key();
    let clients = nodes.iter().map(|node| (node.address().to_owned(), node.client_with(&key))).collect();
    let stop = Arc::<AtomicBool>::default();
    let calls = tokio::spawn(balance(clients, Arc::clone(&stop)));
    for node in &mut nodes {
        pause(500).await;
        node.signal("TERM");
        node.ended().await;
        node.restart().await;
    }
    pause(500).await;
    stop.store(true, Ordering::Release);
    let (sent, failed) = calls.await.expect("the balancer ends");
    assert_eq!(failed, 0, "of {sent} calls");
    let client = nodes[0].client_with(&key);
    wait_until("the end of every request", async || is_all_completed(&client).await).await;
    // Requests in flight ended where they were: nothing was computed twice.
    let attempts = world.engines.iter().map(|engine| engine.attempts_of("x")).sum::<u32>() as usize;
    let (count, _) = count_completed(&client).await;
    assert_eq!(attempts, count, "attempts for {count} requests");
    nodes[0].assert_audited().await;
}

/// The numbers of all and of completed requests.
async fn count_completed(client: &Client) -> (usize, usize) {
    let mut lines = client.list_requests(&RequestFilter::default()).await.expect("a list");
    let (mut all, mut completed) = (0, 0);
    while let Some(line) = lines.next().await {
        all += 1;
        completed += usize::from(line.expect("a line").status == RequestStatus::Completed);
    }
    (all, completed)
}

async fn is_all_completed(client: &Client) -> bool {
    let (all, completed) = count_completed(client).await;
    all == completed
}
