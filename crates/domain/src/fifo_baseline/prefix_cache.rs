//! The prefix cache of one engine replica: the least recently used blocks are dropped first (LRU), and of one prompt its end before its
//! start, as vLLM frees blocks.

use hashlink::LinkedHashMap;

use super::Prompt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Block {
    /// Its owner, and the hash of everything up to its end.
    OfPrompt(u64, u64),
    /// The number of an answer, which takes room although no prompt asks for it.
    OfAnswer(u64),
}

#[derive(Debug)]
pub(super) struct PrefixCache {
    weights: LinkedHashMap<Block, u64>,
    weight: u64,
    answers: u64,
}

impl PrefixCache {
    pub(super) fn new() -> Self {
        Self { weights: LinkedHashMap::new(), weight: 0, answers: 0 }
    }

    /// The bytes of the prompt's beginning that are cached. Prompts may part anywhere within the first missing block, so half of it counts,
    /// unless it is the first of all.
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

    /// Adds a prompt and its answer, and drops the least recently used blocks down to `weight_max` and `blocks_max`.
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
        // A block that is present moves to the end.
        let before = self.weights.insert(block, weight);
        self.weight = (self.weight - before.unwrap_or(0)).saturating_add(weight);
    }
}
