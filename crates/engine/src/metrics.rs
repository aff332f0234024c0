//! Counters under vLLM's names, so that tools for vLLM work with this engine too.

use std::{
    fmt::Write as _,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
    time::Duration,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By the model or a stop string.
    Stop,
    /// By the allowed number of tokens.
    Length,
    Abort,
    /// By a failed step.
    Error,
}

const ENDINGS: [(Ended, &str); 4] =
    [(Ended::Stop, "stop"), (Ended::Length, "length"), (Ended::Abort, "abort"), (Ended::Error, "error")];

const LATENCY_BOUNDS_S: [f64; 10] = [0.1, 0.3, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1200.0];

/// May be used from any thread.
#[derive(Debug, Default)]
pub struct Metrics {
    running: AtomicUsize,
    waiting: AtomicUsize,
    cache_usage_bits: AtomicU64,
    cache_cells: AtomicUsize,
    prompt_tokens: AtomicUsize,
    generation_tokens: AtomicUsize,
    prefix_queries: AtomicUsize,
    prefix_hits: AtomicUsize,
    ended: [AtomicUsize; ENDINGS.len()],
    latency_counts: [AtomicUsize; LATENCY_BOUNDS_S.len() + 1],
    latency_sum_us: AtomicU64,
}

impl Metrics {
    /// `cache_usage` is from 0 to 1.
    pub fn set_load(&self, running: usize, waiting: usize, cache_usage: f64) {
        self.running.store(running, Ordering::Relaxed);
        self.waiting.store(waiting, Ordering::Relaxed);
        self.cache_usage_bits.store(cache_usage.to_bits(), Ordering::Relaxed);
    }

    /// Tokens in the cache that prompts can share; 0 if they share none.
    pub fn set_cache_cells(&self, cells: usize) {
        self.cache_cells.store(cells, Ordering::Relaxed);
    }

    /// Counts a started sequence: the tokens of its prompt, and the cached ones among them.
    pub fn count_prefix(&self, prompt_tokens: usize, cached_tokens: usize) {
        self.prefix_queries.fetch_add(prompt_tokens, Ordering::Relaxed);
        self.prefix_hits.fetch_add(cached_tokens, Ordering::Relaxed);
    }

    /// Counts a request's prompt, once it is computed.
    pub fn count_prompt(&self, tokens: usize) {
        self.prompt_tokens.fetch_add(tokens, Ordering::Relaxed);
    }

    pub fn count_generated(&self) {
        self.generation_tokens.fetch_add(1, Ordering::Relaxed);
    }

    pub fn count_ended(&self, how: Ended) {
        self.ended[how as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// From a request's arrival to its answer.
    pub fn observe_latency(&self, elapsed: Duration) {
        let bucket = LATENCY_BOUNDS_S.iter().position(|bound| elapsed.as_secs_f64() <= *bound);
        self.latency_counts[bucket.unwrap_or(LATENCY_BOUNDS_S.len())].fetch_add(1, Ordering::Relaxed);
        let micros = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        self.latency_sum_us.fetch_add(micros, Ordering::Relaxed);
    }

    /// Prompt tokens of sequences, and the cached ones among them.
    #[must_use]
    pub fn prefix_counts(&self) -> (usize, usize) {
        (self.prefix_queries.load(Ordering::Relaxed), self.prefix_hits.load(Ordering::Relaxed))
    }

    #[must_use]
    pub fn render(&self, model: &str) -> String {
        let label = format!(
            "model_name=\"{}\"",
            model.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
        );
        let mut page = String::new();
        let mut line = |kind: &str, name: &str, value: &dyn std::fmt::Display| {
            let _ = writeln!(page, "# TYPE vllm:{name} {kind}\nvllm:{name}{{{label}}} {value}");
        };
        let read = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        line("gauge", "num_requests_running", &read(&self.running));
        line("gauge", "num_requests_waiting", &read(&self.waiting));
        line("gauge", "kv_cache_usage_perc", &f64::from_bits(self.cache_usage_bits.load(Ordering::Relaxed)));
        // A sequence starts only when its room is certain, so none is ever preempted.
        line("counter", "num_preemptions_total", &0);
        line("counter", "prompt_tokens_total", &read(&self.prompt_tokens));
        line("counter", "generation_tokens_total", &read(&self.generation_tokens));
        line("counter", "prefix_cache_queries_total", &read(&self.prefix_queries));
        line("counter", "prefix_cache_hits_total", &read(&self.prefix_hits));
        let cells = read(&self.cache_cells);
        if cells > 0 {
            let name = "vllm:cache_config_info";
            let _ = writeln!(
                page,
                "# TYPE {name} gauge\n{name}{{{label},block_size=\"1\",num_gpu_blocks=\"{cells}\"}} 1"
            );
        }
        self.render_ended(&mut page, &label);
        self.render_latency(&mut page, &label);
        page
    }

    fn render_ended(&self, page: &mut String, label: &str) {
        let _ = writeln!(page, "# TYPE vllm:request_success_total counter");
        for (how, reason) in ENDINGS {
            let count = self.ended[how as usize].load(Ordering::Relaxed);
            let _ =
                writeln!(page, "vllm:request_success_total{{{label},finished_reason=\"{reason}\"}} {count}");
        }
    }

    fn render_latency(&self, page: &mut String, label: &str) {
        const NAME: &str = "vllm:e2e_request_latency_seconds";
        let _ = writeln!(page, "# TYPE {NAME} histogram");
        let mut count = 0;
        for (index, bucket) in self.latency_counts.iter().enumerate() {
            count += bucket.load(Ordering::Relaxed);
            let bound = LATENCY_BOUNDS_S.get(index).map_or("+Inf".to_owned(), ToString::to_string);
            let _ = writeln!(page, "{NAME}_bucket{{{label},le=\"{bound}\"}} {count}");
        }
        let sum = Duration::from_micros(self.latency_sum_us.load(Ordering::Relaxed)).as_secs_f64();
        let _ = writeln!(page, "{NAME}_sum{{{label}}} {sum}\n{NAME}_count{{{label}}} {count}");
    }
}

#[cfg(test)]
mod tests {
    use super::{Ended, Metrics};
    use std::time::Duration;

    #[test]
    fn the_page_has_vllms_names_and_the_models_label() {
        let metrics = Metrics::default();
        metrics.set_load(2, 3, 0.25);
        metrics.set_cache_cells(512);
        metrics.count_prefix(100, 60);
        metrics.count_ended(Ended::Abort);
        metrics.observe_latency(Duration::from_secs(2));
        let page = metrics.render("a \"b\"");
        for line in [
            "vllm:num_requests_running{model_name=\"a \\\"b\\\"\"} 2",
            "vllm:num_requests_waiting{model_name=\"a \\\"b\\\"\"} 3",
            "vllm:kv_cache_usage_perc{model_name=\"a \\\"b\\\"\"} 0.25",
            "vllm:cache_config_info{model_name=\"a \\\"b\\\"\",block_size=\"1\",num_gpu_blocks=\"512\"} 1",
            "vllm:prefix_cache_hits_total{model_name=\"a \\\"b\\\"\"} 60",
            "vllm:request_success_total{model_name=\"a \\\"b\\\"\",finished_reason=\"abort\"} 1",
            "vllm:e2e_request_latency_seconds_bucket{model_name=\"a \\\"b\\\"\",le=\"1\"} 0",
            "vllm:e2e_request_latency_seconds_bucket{model_name=\"a \\\"b\\\"\",le=\"2.5\"} 1",
            "vllm:e2e_request_latency_seconds_count{model_name=\"a \\\"b\\\"\"} 1",
        ] {
            assert!(page.lines().any(|found| found == line), "{line} is missing in\n{page}");
        }
    }
}
