//! The engine without sockets or time: which sequences run in a step, which tokens they find in the cache, and how long the step takes.
//!
//! After vLLM's V1 scheduler: requests are served in order of arrival; every step computes one token of each running sequence and fills its
//! token budget with prompt chunks; a request starts when a place and the blocks for its whole context are free; when blocks run out while
//! decoding, the sequence that started last is preempted and starts over. Generated tokens are not remembered as a prefix, and the cost of
//! computing a prompt token does not grow with the tokens before it.

use std::collections::VecDeque;
use std::time::Duration;

use super::cache::{BLOCK_TOKENS, BlockPool};
use super::config::CostModel;
use super::prompt::ChatRequest;

#[derive(Clone, Debug, Default)]
pub struct Job {
    pub prompt_tokens: usize,
    /// A chained hash for each full block of [`BLOCK_TOKENS`] prompt tokens.
    pub block_hashes: Vec<u64>,
    /// Tokens to generate in each choice, at least 1.
    pub output_tokens: usize,
    pub choices: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId(u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    pub id: JobId,
    /// Prompt tokens found in the prefix cache.
    pub cached_tokens: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    pub duration: Duration,
    pub finished: Vec<Finished>,
}

/// Counts since the start, and current levels, under the names of vLLM's metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ModelStats {
    pub num_requests_running: usize,
    /// Requests that wait for a place or for blocks.
    pub num_requests_waiting: usize,
    /// Share of the cache that sequences hold, from 0 to 1.
    pub kv_cache_usage_perc: f64,
    /// Prompt tokens looked up in the prefix cache.
    pub prefix_cache_queries_total: u64,
    /// Prompt tokens found in the prefix cache.
    pub prefix_cache_hits_total: u64,
    /// Prompt tokens of the requests whose prompt was computed.
    pub prompt_tokens_total: u64,
    pub generation_tokens_total: u64,
    /// Sequences removed from the batch for lack of blocks.
    pub num_preemptions_total: u64,
}

#[derive(Debug)]
struct Sequence {
    id: JobId,
    job: Job,
    computed: usize,
    produced: usize,
    cached_tokens: usize,
    held: Vec<usize>,
}

impl Job {
    /// Reads a chat-completion request; its answer has `max_tokens` tokens. Fails with the reason if the simulated engine does not accept
    /// it.
    pub fn from_body(body: &[u8]) -> Result<Self, String> {
        let request = ChatRequest::parse(body)?;
        Ok(Self {
            prompt_tokens: request.token_count(),
            block_hashes: request.block_hashes(),
            output_tokens: request.tokens_max().unwrap_or(1),
            choices: request.choices(),
        })
    }
}

impl Sequence {
    /// Tokens to compute before the next token can be emitted.
    fn remaining(&self) -> usize {
        self.job.prompt_tokens + self.produced - self.computed
    }

    fn is_decoding(&self) -> bool {
        self.produced > 0 && self.remaining() == 1
    }

    /// Blocks for the first `tokens` of the context; generated tokens are held once per choice.
    fn blocks_for(&self, tokens: usize) -> usize {
        let prompt = tokens.min(self.job.prompt_tokens);
        prompt.div_ceil(BLOCK_TOKENS) + self.job.choices * (tokens - prompt).div_ceil(BLOCK_TOKENS)
    }
}

/// A batching engine, driven step by step; the driver owns time.
#[derive(Debug)]
pub struct EngineModel {
    cost: CostModel,
    pool: BlockPool,
    waiting: VecDeque<Sequence>,
    running: Vec<Sequence>,
    next_id: u64,
    stats: ModelStats,
}

impl EngineModel {
    pub fn new(cost: CostModel) -> Self {
        let pool = BlockPool::new(cost.kv_cache_tokens / BLOCK_TOKENS);
        let (waiting, running) = (VecDeque::new(), Vec::new());
        Self { cost, pool, waiting, running, next_id: 0, stats: ModelStats::default() }
    }

    /// Queues a job; `None` if it is larger than the whole cache.
    pub fn submit(&mut self, job: Job) -> Option<JobId> {
        let id = JobId(self.next_id);
        let sequence = Sequence { id, job, computed: 0, produced: 0, cached_tokens: 0, held: Vec::new() };
        let context = sequence.job.prompt_tokens + sequence.job.output_tokens;
        if sequence.blocks_for(context) > self.cost.kv_cache_tokens / BLOCK_TOKENS {
            return None;
        }
        self.next_id += 1;
        self.waiting.push_back(sequence);
        Some(id)
    }

    /// Forgets a job, running or waiting. Has no effect on a job that has ended.
    pub fn cancel(&mut self, id: JobId) {
        self.waiting.retain(|sequence| sequence.id != id);
        if let Some(at) = self.running.iter().position(|sequence| sequence.id == id) {
            let sequence = self.running.remove(at);
            self.pool.release(&sequence.held);
        }
    }

    pub fn is_idle(&self) -> bool {
        self.running.is_empty() && self.waiting.is_empty()
    }

    pub fn stats(&self) -> ModelStats {
        ModelStats {
            num_requests_running: self.running.len(),
            num_requests_waiting: self.waiting.len(),
            kv_cache_usage_perc: self.pool.usage(),
            ..self.stats
        }
    }

    /// Runs one step with at most `running_max` sequences. The step of an idle engine takes no time.
    pub fn step(&mut self, running_max: usize) -> Step {
        let mut load = Load { budget: self.cost.step_tokens_max.max(1), ..Load::default() };
        let preempted = self.advance_running(&mut load);
        if !preempted {
            self.admit_waiting(&mut load, running_max.max(1));
        }
        Step { duration: self.price(&load), finished: self.take_finished() }
    }

    /// Advances running sequences; true if one had to be preempted.
    fn advance_running(&mut self, load: &mut Load) -> bool {
        let mut preempted = false;
        let mut at = 0;
        while at < self.running.len() {
            let sequence = &mut self.running[at];
            let wanted = sequence.blocks_for(sequence.computed + sequence.remaining());
            if self.pool.grow(&mut sequence.held, wanted) {
                self.advance(at, load);
                at += 1;
            } else {
                preempted = true;
                self.preempt_last();
            }
        }
        preempted
    }

    fn admit_waiting(&mut self, load: &mut Load, running_max: usize) {
        while load.budget > 0 && self.running.len() < running_max {
            let Some(mut sequence) = self.waiting.pop_front() else { return };
            let context = sequence.job.prompt_tokens + sequence.produced;
            // The last token is always computed: its output yields the first generated token.
            let reusable = context.saturating_sub(1) / BLOCK_TOKENS;
            let known = &sequence.job.block_hashes[..reusable.min(sequence.job.block_hashes.len())];
            let hits = if self.cost.prefix_caching { self.pool.count_hits(known) } else { 0 };
            let Some(held) = self.pool.acquire(&known[..hits], sequence.blocks_for(context)) else {
                return self.waiting.push_front(sequence);
            };
            sequence.held = held;
            sequence.computed = hits * BLOCK_TOKENS;
            if sequence.produced == 0 {
                sequence.cached_tokens = sequence.computed;
                self.stats.prefix_cache_queries_total += sequence.job.prompt_tokens as u64;
                self.stats.prefix_cache_hits_total += sequence.computed as u64;
            }
            self.running.push(sequence);
            self.advance(self.running.len() - 1, load);
        }
    }

    /// Computes the next token, or the next chunk of the prompt, of one running sequence.
    fn advance(&mut self, at: usize, load: &mut Load) {
        let sequence = &mut self.running[at];
        let chunk = if sequence.is_decoding() {
            load.decoding += sequence.job.choices;
            load.context_tokens += sequence.job.choices * sequence.computed;
            load.budget = load.budget.saturating_sub(sequence.job.choices);
            1
        } else {
            let chunk = sequence.remaining().min(load.budget);
            load.prompt_tokens += chunk;
            load.budget -= chunk;
            chunk
        };
        let full_before = sequence.computed / BLOCK_TOKENS;
        sequence.computed += chunk;
        let full_now = (sequence.computed / BLOCK_TOKENS).min(sequence.job.block_hashes.len());
        for block in full_before..full_now {
            self.pool.publish(sequence.held[block], sequence.job.block_hashes[block]);
        }
        if sequence.remaining() == 0 {
            if sequence.produced == 0 {
                self.stats.prompt_tokens_total += sequence.job.prompt_tokens as u64;
            }
            sequence.produced += 1;
            self.stats.generation_tokens_total += sequence.job.choices as u64;
        }
    }

    fn preempt_last(&mut self) {
        if let Some(mut sequence) = self.running.pop() {
            self.pool.release(&sequence.held);
            sequence.held.clear();
            sequence.computed = 0;
            self.stats.num_preemptions_total += 1;
            self.waiting.push_front(sequence);
        }
    }

    fn take_finished(&mut self) -> Vec<Finished> {
        let mut finished = Vec::new();
        let pool = &mut self.pool;
        self.running.retain(|sequence| {
            let runs_on = sequence.produced < sequence.job.output_tokens;
            if !runs_on {
                pool.release(&sequence.held);
                finished.push(Finished { id: sequence.id, cached_tokens: sequence.cached_tokens });
            }
            runs_on
        });
        finished
    }

    fn price(&self, load: &Load) -> Duration {
        let prompt_s = load.prompt_tokens as f64 / self.cost.prompt_tokens_per_second;
        let decode_s = match load.decoding {
            0 => 0.0,
            count => (1.0 + self.cost.batch_growth * (count - 1) as f64) / self.cost.output_tokens_per_second,
        };
        let context_s = load.context_tokens as f64 / self.cost.context_tokens_per_second;
        Duration::try_from_secs_f64(prompt_s + decode_s + context_s).unwrap_or(Duration::MAX)
    }
}

#[derive(Default)]
struct Load {
    budget: usize,
    decoding: usize,
    prompt_tokens: usize,
    context_tokens: usize,
}

#[cfg(test)]
mod tests;
