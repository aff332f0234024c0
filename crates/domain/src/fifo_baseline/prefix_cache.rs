//! The prefix cache of one engine replica: what was used least recently goes first (LRU), and of one prompt its end before its
//! start, as vLLM frees blocks.

use hashlink::LinkedHashMap;

use super::Prompt;

/// What a block is found by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Block {
    /// Its owner, and the hash of everything up to its end.
    OfPrompt(u64, u64),
    /// What the answers to prompts leave in the cache, by their number: no prompt asks for it.
    OfAnswer(u64),
}

/// Blocks, the one used least recently first.
#[derive(Debug)]
pub(super) struct PrefixCache {
    weights: LinkedHashMap<Block, u64>,
    weight: u64,
    answers: u64,
}

impl PrefixCache {
    /// Nothing is in it.
    pub(super) fn new() -> Self {
        Self { weights: LinkedHashMap::new(), weight: 0, answers: 0 }
    }

    /// The bytes that a prompt begins with and that are there. Within the first block that is not there, prompts part anywhere: half
    /// of it counts, unless it is the first of all.
    pub(super) fn hit(&self, prompt: &Prompt<'_>) -> u64 {
        let mut hit = 0;
        for (block, bytes) in prompt.blocks() {
            if !self.weights.contains_key(&block) {
                return hit + if hit > 0 { bytes / 2 } else { 0 };
            }
            hit += bytes;
        }
        hit
    }

    /// Takes a prompt and its answer in, and lets go of what was used least recently while there is more than `weight_max`, or more than
    /// so many blocks.
    pub(super) fn take_in(&mut self, prompt: &Prompt<'_>, weight_max: u64, blocks_max: usize) {
        self.answers += 1;
        self.touch(Block::OfAnswer(self.answers), prompt.answer_weight);
        for (block, bytes) in prompt.blocks().rev() {
            self.touch(block, prompt.weight_of(bytes));
        }
        while self.weight > weight_max || self.weights.len() > blocks_max {
            let Some((_, weight)) = self.weights.pop_front() else { return };
            self.weight -= weight;
        }
    }

    #[cfg(test)]
    pub(super) fn blocks(&self) -> usize {
        self.weights.len()
    }

    fn touch(&mut self, block: Block, weight: u64) {
        // A block that is there goes to the end.
        let before = self.weights.insert(block, weight);
        self.weight = (self.weight - before.unwrap_or(0)).saturating_add(weight);
    }
}
