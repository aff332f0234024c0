//! What engines' prefix caches would hold of each prompt if requests were sent in the order of their arrival: what the order of the
//! queue saves is held against it.
//!
//! Requests are dealt to the replicas in turn, and each replica's cache is simulated block by block. The least recently used goes
//! first, so a block is there if what was used since its last use fits beside it: a cache of another size, or one more replica, needs
//! no other model.
//!
//! What the order saves is held against a simulation of order of arrival. No one can measure what an engine's cache would have held
//! in another order. `domain::fifo_baseline` simulates one LRU of prompt blocks for each engine; the blocks come out of the pass that
//! computes the sort key. A create asks it (`app::fifo_baselines`) and stores the answer with the request, so any node can compare it
//! with `cached_tokens` of the completion, days and restarts later. Nearest earlier neighbours in key order were tried instead and
//! were wrong by up to 57 points where long heads are shared.

mod prefix_cache;

use prefix_cache::{Block, PrefixCache};

use crate::sort_key::PromptBlocks;

/// Blocks that are kept at most, of all replicas together: about 10 MiB.
const BLOCKS_MAX: usize = 1 << 17;
/// What a block is about, for how many caches fit: those of further replicas are taken to hold what the others hold.
const BLOCK_BYTES: u64 = 256;

/// A prompt as the caches see it. Weights are bytes of request bodies.
#[derive(Debug, Clone, Copy)]
pub struct Prompt<'a> {
    /// Its blocks.
    pub blocks: &'a PromptBlocks,
    /// The length of its body.
    pub body_bytes: usize,
    /// What its answer will take beside it.
    pub answer_weight: u64,
    /// Prompts of different owners share nothing, however alike they are.
    pub owner: u64,
}

impl Prompt<'_> {
    /// Each block, and its length in bytes of the stream.
    fn blocks(&self) -> impl DoubleEndedIterator<Item = (Block, u64)> {
        let owner = self.owner;
        self.blocks.iter().map(move |block| (Block::OfPrompt(owner, block.prefix), block.bytes as u64))
    }

    /// What so many bytes of the stream weigh: what the body has beside the stream is spread over it.
    fn weight_of(&self, bytes: u64) -> u64 {
        bytes * self.body_bytes as u64 / self.blocks.bytes().max(1) as u64
    }
}

/// The prefix caches of the replicas that serve a model, as they would be.
#[derive(Debug, Default)]
pub struct FifoBaseline {
    caches: Vec<PrefixCache>,
    /// Of each replica, in bytes of request bodies.
    sizes: Vec<u64>,
    /// Whose turn it is.
    next: usize,
}

impl FifoBaseline {
    /// The sizes of the replicas' caches from now on, in bytes of request bodies. What the caches hold they keep.
    pub fn set_sizes(&mut self, sizes: Vec<u64>) {
        let largest = sizes
            .iter()
            .max()
            .map_or(1, |size| usize::try_from(size / BLOCK_BYTES).unwrap_or(usize::MAX).max(1));
        let simulated = (BLOCKS_MAX / largest).max(1).min(sizes.len());
        self.caches.resize_with(simulated, PrefixCache::new);
        self.sizes = sizes;
    }

    /// A request is coming: the part of its prompt that the cache of its replica would hold, in thousandths. `None` where no replica is
    /// known. It has arrived with [`Self::arrive`].
    pub fn hit(&self, prompt: &Prompt<'_>) -> Option<u16> {
        let cache = self.caches.get(self.turn()? % self.caches.len())?;
        let hit = cache.hit(prompt) * 1_000 / prompt.blocks.bytes().max(1) as u64;
        u16::try_from(hit).ok()
    }

    /// The next request has arrived and will be sent. A prompt that no cache holds leaves all as it was.
    pub fn arrive(&mut self, prompt: &Prompt<'_>) {
        let Some(turn) = self.turn() else { return };
        self.next = turn + 1;
        let (size, simulated) = (self.sizes[turn], self.caches.len());
        if turn < simulated && prompt.body_bytes as u64 <= size {
            self.caches[turn].take_in(prompt, size, BLOCKS_MAX / simulated);
        }
    }

    fn turn(&self) -> Option<usize> {
        self.next.checked_rem(self.sizes.len())
    }
}

#[cfg(test)]
mod tests;
