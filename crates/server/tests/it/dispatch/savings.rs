//! Reported savings of the queue's order.

use overnight_app::engines::{self, PrefixCacheState};
use overnight_app::requests::fifo_baselines;
use overnight_testkit::engine::{CostModel, SimConfig, Speed, Tunables};

use super::{Rig, until};

/// The number of documents; each has several questions.
const DOCUMENTS: usize = 8;
const QUESTIONS: usize = 6;

/// A vLLM whose prefix cache holds three documents. Each question is half of a prompt.
fn engine() -> SimConfig {
    let cost = CostModel {
        prompt_tokens_per_second: 1e6,
        output_tokens_per_second: 1e4,
        kv_cache_tokens: 4_096,
        ..CostModel::default()
    };
    let tunables = Tunables { owned_by: Some("vllm".to_owned()), ..Tunables::default() };
    SimConfig { speed: Speed::Modelled(cost), tunables, ..SimConfig::default() }
}

async fn prefix_cache(rig: &Rig) -> PrefixCacheState {
    let reports = engines::list(&rig.services).await.expect("reports");
    reports.first().map(|report| report.engine.prefix_cache).unwrap_or_default()
}

/// The state of the engine's prefix cache, once it satisfies `holds`.
async fn known(rig: &Rig, holds: impl Fn(&PrefixCacheState) -> bool) -> PrefixCacheState {
    until("a report", async || Some(prefix_cache(rig).await).filter(&holds)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_that_the_order_saves_are_those_that_arrival_would_have_computed_again() {
    // All requests are aggregated before the first is sent, one at a time.
    let environment = [("OVERNIGHT_AGGREGATION_PERIOD", "3s")];
    let rig = Rig::start_with(vec![engine()], &environment).await;
    let size = known(&rig, |cache| cache.body_bytes.is_some()).await;
    let found = (size.body_bytes, size.saved_tokens);
    assert_eq!(found, (Some(16_000), None), "four bytes a token, to two digits");
    fifo_baselines::learn_cache_sizes(&rig.services).await.expect("a read");
    let mut ids = Vec::new();
    for question in 0..QUESTIONS {
        for document in 0..DOCUMENTS {
            let text = format!("document {document} ").repeat(400);
            ids.push(rig.create(&format!("{text} question {question}")).await);
        }
    }
    for id in ids {
        rig.ended(id).await;
    }
    let cache = known(&rig, |cache| cache.saved_tokens.is_some_and(|tokens| tokens > 0)).await;
    assert_eq!(cache.fifo_hit_percent, Some(0), "no document was still there when its next question came");
    rig.finish().await;
}
