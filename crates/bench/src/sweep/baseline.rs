//! The service's estimate of the hit rate in order of arrival, which it cannot observe.

use overnight_domain::fifo_baseline::{FifoBaseline, Prompt};
use overnight_domain::json;
use overnight_domain::sort_key::SortKey;

use super::swept::SECRET;
use super::workload::Workload;

/// The estimate after enough completions.
pub(super) fn hit_rate(workload: &Workload, replicas: usize) -> f64 {
    let Workload { requests, cost } = workload;
    let prompt_tokens: usize = requests.iter().map(|request| request.job.prompt_tokens).sum();
    let output_tokens: usize = requests.iter().map(|request| request.job.output_tokens).sum();
    let body_bytes: usize = requests.iter().map(|request| request.body.len()).sum();
    let in_bytes = |tokens: usize| (tokens * body_bytes / prompt_tokens.max(1)) as u64;
    let mut baseline = FifoBaseline::default();
    baseline.set_sizes(vec![in_bytes(cost.kv_cache_tokens); replicas]);
    let answer_weight = in_bytes(output_tokens / requests.len().max(1));
    let mut hit_tokens = 0.0;
    for request in requests {
        let Ok(body) = json::minimize(&request.body, 0) else { continue };
        let (_, blocks) = SortKey::compute_with_blocks(&SECRET, body.as_json());
        let prompt = Prompt { blocks: &blocks, body_bytes: request.body.len(), answer_weight, owner: 0 };
        let permille = baseline.hit(&prompt).unwrap_or(0);
        baseline.arrive(&prompt);
        hit_tokens += f64::from(permille) / 1_000.0 * request.job.prompt_tokens as f64;
    }
    hit_tokens / prompt_tokens.max(1) as f64
}
