//! What engines' prefix caches would hold of each prompt if requests were sent in order of arrival. The savings of the queue's order are
//! measured against it.
//!
//! Requests are dealt to the replicas in turn, and each replica's cache is simulated as an LRU of prompt blocks. The blocks are a product
//! of the pass that computes the sort key. A block is present if everything used since its last use fits beside it: a cache of another
//! size, or one more replica, needs no other model.
//!
//! A simulation is needed, because an engine's cache cannot be measured in an order that did not happen. A create asks it
//! (`app::requests::fifo_baselines`) and stores the answer with the request, so any node can compare it with `cached_tokens` of the
//! completion, days and restarts later. Nearest earlier neighbours in key order were tried instead and were wrong by up to 57 points if
//! long heads are shared.

mod prefix_cache;

use prefix_cache::{Block, PrefixCache};

use crate::sort_key::PromptBlocks;

/// Maximum of blocks kept for all replicas together: about 10 MiB.
const BLOCKS_MAX: usize = 1 << 17;
/// Approximate memory of a block, which bounds the number of caches. Further replicas are assumed to hold what the others hold.
const BLOCK_BYTES: u64 = 256;

/// A prompt as the caches see it. Weights are bytes of request bodies.
#[derive(Debug, Clone, Copy)]
pub struct Prompt<'a> {
    /// The blocks of its stream.
    pub blocks: &'a PromptBlocks,
    /// The length of its body.
    pub body_bytes: usize,
    /// The weight that its answer will add.
    pub answer_weight: u64,
    /// Prompts of different owners share no blocks, however alike they are.
    pub owner: u64,
}

impl Prompt<'_> {
    /// Each block with its length in bytes of the stream.
    fn blocks(&self) -> impl DoubleEndedIterator<Item = (Block, u64)> {
        let owner = self.owner;
        self.blocks.iter().map(move |block| (Block::OfPrompt(owner, block.prefix), block.bytes as u64))
    }

    /// The weight of so many bytes of the stream, over which the rest of the body is spread.
    fn weight_of(&self, bytes: u64) -> u64 {
        bytes * self.body_bytes as u64 / self.blocks.bytes().max(1) as u64
    }
}

/// The prefix caches of a model's replicas, as they would be.
#[derive(Debug, Default)]
pub struct FifoBaseline {
    caches: Vec<PrefixCache>,
    /// Of each replica, in bytes of request bodies.
    sizes: Vec<u64>,
    /// The replica whose turn it is.
    next: usize,
}

impl FifoBaseline {
    /// Sets the sizes of the replicas' caches, in bytes of request bodies. Caches keep their contents.
    pub fn set_sizes(&mut self, sizes: Vec<u64>) {
        let largest = sizes
            .iter()
            .max()
            .map_or(1, |size| usize::try_from(size / BLOCK_BYTES).unwrap_or(usize::MAX).max(1));
        let simulated = (BLOCKS_MAX / largest).max(1).min(sizes.len());
        self.caches.resize_with(simulated, PrefixCache::new);
        self.sizes = sizes;
    }

    /// The part of the next prompt that its replica's cache would hold, in thousandths; `None` without a known replica. [`Self::arrive`]
    /// adds the prompt.
    pub fn hit(&self, prompt: &Prompt<'_>) -> Option<u16> {
        let cache = self.caches.get(self.turn()? % self.caches.len())?;
        let hit = cache.hit(prompt) * 1_000 / prompt.blocks.bytes().max(1) as u64;
        u16::try_from(hit).ok()
    }

    /// The next request arrives and will be sent. A prompt that no cache can hold changes no cache.
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
