//! What a simulated engine is told at its start, and what may be changed while it runs.

use std::ops::RangeInclusive;

use super::faults::FaultRates;

/// Everything a simulated engine is started with. `SimConfig::default()` is an instant engine without faults that
/// serves `sim-model` to anyone.
#[derive(Clone, Debug)]
pub struct SimConfig {
    /// Fixes every draw: completion lengths, completion texts, and which attempts the fault rates hit.
    pub seed: u64,
    /// What a completion costs in time.
    pub speed: Speed,
    /// The range that the length of a completion is drawn from, in tokens; `max_tokens` cuts it.
    pub completion_tokens: RangeInclusive<usize>,
    /// The longest prompt plus completion, in tokens; a longer one is refused with 400.
    pub context_tokens: usize,
    /// What is remembered of each prompt.
    pub recording: Recording,
    /// What may be changed while the engine runs.
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

/// What a completion costs in time.
#[derive(Clone, Debug, PartialEq)]
pub enum Speed {
    /// Nothing but [`Tunables::base_latency_ms`]: the engine that benchmarks of the service run against.
    Instant,
    /// What a batching engine with a prefix cache would take.
    Modelled(CostModel),
}

/// The costs of an engine that batches continuously and keeps the blocks of past prompts, as vLLM does. One step
/// computes one token of every running sequence and fills what is left of its token budget with prompt chunks.
#[derive(Clone, Debug, PartialEq)]
pub struct CostModel {
    /// Prompt tokens computed per second; tokens found in the prefix cache cost nothing.
    pub prompt_tokens_per_second: f64,
    /// Output tokens per second of one sequence that runs alone.
    pub output_tokens_per_second: f64,
    /// How much each further sequence in a step lengthens it, as a share of a lone sequence's step.
    pub batch_growth: f64,
    /// Tokens of context that the decoding sequences of a step read per second, beside the above; infinite where reading them
    /// costs nothing.
    pub context_tokens_per_second: f64,
    /// The most tokens that one step computes.
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
    /// The same engine so many times as fast, as if time passed faster: every step takes that much less.
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

/// What is remembered of each prompt, keyed by the content of its last user message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recording {
    /// Nothing, so that memory stays flat under benchmarks. Only prompts with a marker are counted.
    Off,
    /// How many attempts each prompt had.
    Attempts,
    /// That, and the order in which the attempts came.
    Order,
}

/// What may be changed while the engine runs; see [`super::SimEngine::tune`].
#[derive(Clone, Debug)]
pub struct Tunables {
    pub models: Vec<String>,
    /// The status for any other model: 404 with vLLM, 400 with `transformers serve`.
    pub unknown_model_status: u16,
    /// To whom the list of models says that they belong: `vllm` with vLLM. `None` if there is no list.
    pub owned_by: Option<String>,
    /// Whether `usage` counts the tokens of one choice, as llama-server's does.
    pub counts_one_choice: bool,
    /// Whether `n`, `logprobs` and the like are passed over, as `transformers serve` does.
    pub ignores_fields: bool,
    /// Whether the list of models says how long the context is, as vLLM does.
    pub lists_context: bool,
    /// Whether `cache_salt` may be sent; 400 otherwise, as with a server that refuses fields that it does not know.
    pub takes_cache_salt: bool,
    /// Fields that are refused, each with the message of the 400.
    pub refused_fields: Vec<(&'static str, &'static str)>,
    /// Paths of endpoints that are not there, such as `/v1/embeddings`: 404 for whatever is asked of them.
    pub missing_paths: Vec<&'static str>,
    /// The key wanted as Bearer on every `/v1` route, if any.
    pub api_key: Option<String>,
    /// Whether `/health` answers 200; 503 otherwise.
    pub healthy: bool,
    /// Whether `/metrics` exists; 404 otherwise, as on an engine that says nothing of itself.
    pub reports_metrics: bool,
    /// Milliseconds that every completion takes beside the cost model.
    pub base_latency_ms: u64,
    /// Requests that run at once; more of them wait.
    pub running_max: usize,
    /// Requests that may wait; more of them are refused with `overload`.
    pub waiting_max: usize,
    /// How a request past `waiting_max` is refused.
    pub overload: Overload,
    /// Of an engine that holds one of its models at a time: milliseconds that loading one takes.
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

/// The answer to a request that finds the queue full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overload {
    /// 429 or 503.
    pub status: u16,
    /// The value of `Retry-After` in seconds, if it is sent.
    pub retry_after_s: Option<u32>,
}
