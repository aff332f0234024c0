//! Requests with a common prefix run on one engine, even if several nodes share the sweep.

use std::collections::HashSet;

use overnight_client::Client;
use overnight_testkit::engine::{CostModel, SimConfig, SimEngine, Speed};
use tokio::task::JoinSet;

use super::{CONNECTIONS, GATHERED, World, driven, wait_until};
use crate::crashes::wait_for_ends;

const DOCUMENTS: usize = 75;
const QUESTIONS: usize = 16;

/// Asks questions about documents in rounds, so that questions about one document are as far apart as possible.
async fn ask(clients: &[Client]) {
    let mut calls = JoinSet::new();
    for (lane, client) in clients.iter().cycle().take(CONNECTIONS).cloned().enumerate() {
        calls.spawn(async move {
            for place in (lane..DOCUMENTS * QUESTIONS).step_by(CONNECTIONS) {
                let (document, question) = (place % DOCUMENTS, place / DOCUMENTS);
                let text = format!("Document {document} says this. ").repeat(160);
                let body = format!(
                    r#"{{"request_body":{{"model":"sim","max_tokens":8,"messages":[
                       {{"role":"user","content":"{text}Question {question}?"}}]}}}}"#
                );
                client.create_request_raw(body).await.expect("a create");
            }
        });
    }
    while let Some(ended) = calls.join_next().await {
        ended.expect("a lane ends");
    }
}

/// The mean number of engines that answered questions about one document, with this many nodes on three engines.
async fn engines_per_document(nodes: usize) -> f64 {
    let cost = CostModel { kv_cache_tokens: 16_384, ..CostModel::default() };
    let world = World::new(3, &SimConfig { speed: Speed::Modelled(cost), ..SimConfig::default() });
    let mut services = Vec::new();
    for name in ["a", "b", "c"].into_iter().take(nodes) {
        services.push(world.start(name, GATHERED).await);
    }
    let share = 3.0 / nodes as f64;
    for service in &services {
        wait_until("a share for each node", async || driven(service).await == share).await;
    }
    let key = services[0].key();
    let clients: Vec<Client> = services.iter().map(|service| service.client_with(&key)).collect();
    ask(&clients).await;
    wait_for_ends(&clients[0], DOCUMENTS * QUESTIONS).await;
    services[0].assert_audited().await;
    let mut counted = 0.0;
    for service in &services {
        counted += service.figure("overnight_engine_cached_prompt_tokens_total").await;
    }
    let stats = world.engines.iter().filter_map(SimEngine::model_stats);
    let hits: u64 = stats.map(|stats| stats.prefix_cache_hits_total).sum();
    assert_eq!(counted, hits as f64, "the services count what the engines say");
    let ran: usize = world.engines.iter().map(documents_of).sum();
    ran as f64 / DOCUMENTS as f64
}

fn documents_of(engine: &SimEngine) -> usize {
    let attempts = engine.attempts();
    attempts.keys().map(|prompt| prompt.split('.').next()).collect::<HashSet<_>>().len()
}

/// An engine without work takes over a range of the order, so the number depends on the nodes' speed, and `scripts/test` runs this test while
/// no other runs. On an idle machine of two cores 1.0 engines answer the questions about a document with one node, and 1.2 to 1.9 with three;
/// while other tests ran, 1.65 with one. Without a shared order it is all three. The engines' cache hits are
/// no measure: of two concurrent questions, neither finds the other's document. `bench sweep --nodes 3` measures the cost independently of
/// a clock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shared_prefix_stays_on_one_node() {
    let (one, three) = (engines_per_document(1).await, engines_per_document(3).await);
    eprintln!("engines a document: {one:.2} with one node, {three:.2} with three");
    assert!(one < 1.3, "{one:.2} engines a document with one node");
    assert!(three < 2.0, "{three:.2} engines a document with three nodes");
}
