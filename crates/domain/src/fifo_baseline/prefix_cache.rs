//! The prefix cache of one engine replica: what was used least recently goes first (LRU), and of one prompt its end before its
//! start, as vLLM frees blocks.

use hashlink::LinkedHashMap;

use super::Prompt;

/// Blocks by the hash of their prefix, the one used least recently first.
#[derive(Debug)]
pub(super) struct PrefixCache {
    weights: LinkedHashMap<u64, u64>,
    weight: u64,
    /// Names what answers leave in the cache, which no prompt asks for.
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
        for (prefix, bytes) in prompt.blocks() {
            if !self.weights.contains_key(&prefix) {
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
        // No hash of a prefix in practice, and harmless where it is one.
        self.touch(self.answers, prompt.answer_weight);
        for (prefix, bytes) in prompt.blocks().rev() {
            self.touch(prefix, prompt.weight_of(bytes));
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

    fn touch(&mut self, prefix: u64, weight: u64) {
        // A block that is there goes to the end.
        let before = self.weights.insert(prefix, weight);
        self.weight = self.weight - before.unwrap_or(0) + weight;
    }
}
