//! The engine's own report, under vLLM's metric names, in Prometheus' text format.

use std::fmt::Write as _;
use std::sync::atomic::Ordering::Relaxed;

use super::cache::BLOCK_TOKENS;
use super::config::Speed;
use super::model::ModelStats;
use super::state::State;

pub(super) fn render(state: &State) -> String {
    let (metrics, tunables) = (&state.metrics, state.tunables());
    let stats = match &state.driver {
        Some(driver) => driver.stats(),
        None => {
            let (running, waiting) = state.gate.counts();
            ModelStats {
                num_requests_running: running,
                num_requests_waiting: waiting,
                prompt_tokens_total: metrics.prompt_tokens.load(Relaxed),
                generation_tokens_total: metrics.generation_tokens.load(Relaxed),
                ..ModelStats::default()
            }
        }
    };
    let model = tunables.models.first().map_or("", |model| &model.name);
    let labels = format!("engine=\"0\",model_name=\"{}\"", escape(model));
    let mut text = String::with_capacity(2_048);
    let mut family = |name: &str, kind: &str, value: &dyn std::fmt::Display| {
        let _ = writeln!(text, "# TYPE vllm:{name} {kind}\nvllm:{name}{{{labels}}} {value}");
    };
    family("num_requests_running", "gauge", &stats.num_requests_running);
    family("num_requests_waiting", "gauge", &stats.num_requests_waiting);
    family("kv_cache_usage_perc", "gauge", &stats.kv_cache_usage_perc);
    family("prefix_cache_queries_total", "counter", &stats.prefix_cache_queries_total);
    family("prefix_cache_hits_total", "counter", &stats.prefix_cache_hits_total);
    family("num_preemptions_total", "counter", &stats.num_preemptions_total);
    family("prompt_tokens_total", "counter", &stats.prompt_tokens_total);
    family("generation_tokens_total", "counter", &stats.generation_tokens_total);
    text.push_str("# TYPE vllm:request_success_total counter\n");
    for (reason, counter) in
        [("stop", &metrics.stopped), ("length", &metrics.cut), ("abort", &metrics.aborted)]
    {
        let count = counter.load(Relaxed);
        let _ = writeln!(text, "vllm:request_success_total{{{labels},finished_reason=\"{reason}\"}} {count}");
    }
    if let Speed::Modelled(cost) = &state.config.speed {
        let blocks = cost.kv_cache_tokens / BLOCK_TOKENS;
        let caching = if cost.prefix_caching { "True" } else { "False" };
        let _ = writeln!(
            text,
            "# TYPE vllm:cache_config_info gauge\nvllm:cache_config_info{{block_size=\"{BLOCK_TOKENS}\",\
             enable_prefix_caching=\"{caching}\",engine=\"0\",num_gpu_blocks=\"{blocks}\"}} 1"
        );
    }
    text
}

fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
