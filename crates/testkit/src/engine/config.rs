//! Configuration of a simulated engine: fixed at the start, or changed while it runs.

use std::ops::RangeInclusive;

use super::faults::FaultRates;

/// `SimConfig::default()` is an instant engine without faults that serves `sim-model` to any client.
#[derive(Clone, Debug)]
pub struct SimConfig {
    /// Fixes every draw: completion lengths, completion texts, and which attempts the fault rates hit.
    pub seed: u64,
    pub speed: Speed,
    /// The range of completion lengths in tokens; `max_tokens` limits the drawn length.
    pub completion_tokens: RangeInclusive<usize>,
    /// The longest prompt plus completion, in tokens; a longer one is refused with 400.
    pub context_tokens: usize,
    pub recording: Recording,
    /// Settings that may change while the engine runs.
    pub tunables: Tunables,
}

impl Default for SimConfig {
    fn default() -> Self {
        Self {
            seed: 0,
            speed: Speed::Instant,
            completion_tokens: 16..=16,
            context_tokens: 131_072,
            recording: Recording::Attempts,
            tunables: Tunables::default(),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Speed {
    /// Only [`Tunables::base_latency_ms`], for benchmarks of the service.
    Instant,
    /// The time of a batching engine with a prefix cache.
    Modelled(CostModel),
}

/// The costs of an engine that batches continuously and keeps the blocks of past prompts, as vLLM does. One step computes one token of
/// every running sequence and fills the rest of its token budget with prompt chunks.
#[derive(Clone, Debug, PartialEq)]
pub struct CostModel {
    /// Tokens found in the prefix cache cost no time.
    pub prompt_tokens_per_second: f64,
    /// Output tokens per second of a sequence that runs without others.
    pub output_tokens_per_second: f64,
    /// The time that each further sequence adds to a step, as a share of a step with one sequence.
    pub batch_growth: f64,
    /// Tokens of context that the decoding sequences of a step read per second, in addition; infinite if reading them costs no time.
    pub context_tokens_per_second: f64,
    pub step_tokens_max: usize,
    /// Tokens that the key-value cache holds, for running sequences and for remembered prefixes together.
    pub kv_cache_tokens: usize,
    /// Whether computed prompt blocks are found again.
    pub prefix_caching: bool,
}

impl Default for CostModel {
    fn default() -> Self {
        Self {
            prompt_tokens_per_second: 10_000.0,
            output_tokens_per_second: 100.0,
            batch_growth: 0.01,
            context_tokens_per_second: f64::INFINITY,
            step_tokens_max: 2_048,
            kv_cache_tokens: 262_144,
            prefix_caching: true,
        }
    }
}

impl CostModel {
    /// The same engine this many times as fast: every step takes less time.
    #[must_use]
    pub fn faster(self, times: f64) -> Self {
        Self {
            prompt_tokens_per_second: self.prompt_tokens_per_second * times,
            output_tokens_per_second: self.output_tokens_per_second * times,
            context_tokens_per_second: self.context_tokens_per_second * times,
            ..self
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recording {
    /// No prompt, so that memory stays flat under benchmarks. Only prompts with a marker are counted.
    Off,
    Attempts,
    /// Also the order in which the attempts arrived.
    Order,
}

/// Settings that may change while the engine runs; see [`super::SimEngine::tune`].
#[derive(Clone, Debug)]
pub struct Tunables {
    pub models: Vec<String>,
    /// The status for any other model: 404 with vLLM, 400 with `transformers serve`.
    pub unknown_model_status: u16,
    /// `owned_by` in the list of models: `vllm` with vLLM. `None` if there is no list.
    pub owned_by: Option<String>,
    /// Whether `usage` counts the tokens of one choice only, as llama-server's does.
    pub counts_one_choice: bool,
    /// Whether `n`, `logprobs` and similar fields are ignored, as `transformers serve` does.
    pub ignores_fields: bool,
    /// Whether the list of models contains the context length, as vLLM's does.
    pub lists_context: bool,
    /// Whether `cache_salt` is accepted; 400 otherwise, as with a server that refuses unknown fields.
    pub takes_cache_salt: bool,
    /// Refused fields, each with the message of the 400.
    pub refused_fields: Vec<(&'static str, &'static str)>,
    /// Paths of missing endpoints, such as `/v1/embeddings`: always 404.
    pub missing_paths: Vec<&'static str>,
    /// The Bearer key that every `/v1` route requires.
    pub api_key: Option<String>,
    /// Whether `/health` answers 200; 503 otherwise.
    pub healthy: bool,
    /// Whether `/metrics` exists; 404 otherwise.
    pub reports_metrics: bool,
    /// Milliseconds that every completion takes in addition to the cost model.
    pub base_latency_ms: u64,
    /// Requests that run concurrently; more of them wait.
    pub running_max: usize,
    /// Requests that may wait; more of them are refused with `overload`.
    pub waiting_max: usize,
    /// The refusal of a request past `waiting_max`.
    pub overload: Overload,
    /// If the engine holds one of its models at a time: milliseconds that loading one takes.
    pub load_ms: Option<u64>,
    pub faults: FaultRates,
}

impl Default for Tunables {
    fn default() -> Self {
        Self {
            models: vec!["sim-model".to_owned()],
            unknown_model_status: 404,
            owned_by: Some("overnight-testkit".to_owned()),
            counts_one_choice: false,
            ignores_fields: false,
            lists_context: true,
            takes_cache_salt: true,
            refused_fields: Vec::new(),
            missing_paths: Vec::new(),
            api_key: None,
            healthy: true,
            reports_metrics: true,
            base_latency_ms: 0,
            running_max: 256,
            waiting_max: usize::MAX,
            overload: Overload { status: 429, retry_after_s: Some(1) },
            load_ms: None,
            faults: FaultRates::default(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overload {
    /// 429 or 503.
    pub status: u16,
    /// `Retry-After` in seconds.
    pub retry_after_s: Option<u32>,
}
