//! The blocks of a paged key-value cache, and the prompts that they remember.
//!
//! After vLLM's automatic prefix caching: the cache is divided into blocks of 16 tokens; a full block of a prompt is identified by a hash
//! that chains over all blocks before it; free blocks stay in a queue. A new block takes the least recently used free block, whose content
//! is forgotten.

use std::collections::HashMap;

pub const BLOCK_TOKENS: usize = 16;

const NONE: usize = usize::MAX;

#[derive(Clone, Debug)]
struct Block {
    hash: Option<u64>,
    holders: usize,
    previous: usize,
    next: usize,
}

/// A fixed number of blocks, each held by sequences or free; a free block may still be remembered by its hash.
#[derive(Debug)]
pub(super) struct BlockPool {
    blocks: Vec<Block>,
    by_hash: HashMap<u64, usize>,
    free_count: usize,
    // The ends of the list of free blocks, least recently used first.
    oldest: usize,
    newest: usize,
}

impl BlockPool {
    pub(super) fn new(block_count: usize) -> Self {
        let block = Block { hash: None, holders: 0, previous: NONE, next: NONE };
        let mut pool = Self {
            blocks: vec![block; block_count],
            by_hash: HashMap::new(),
            free_count: 0,
            oldest: NONE,
            newest: NONE,
        };
        (0..block_count).for_each(|id| pool.push_free(id));
        pool
    }

    /// The share of blocks that sequences hold, from 0 to 1.
    pub(super) fn usage(&self) -> f64 {
        1.0 - self.free_count as f64 / self.blocks.len().max(1) as f64
    }

    /// The number of these chained hashes, from the first on, that are remembered.
    pub(super) fn count_hits(&self, hashes: &[u64]) -> usize {
        hashes.iter().take_while(|hash| self.by_hash.contains_key(hash)).count()
    }

    /// Takes the blocks of `hits`, all remembered, and new ones up to `count` in total. Takes no block and returns `None` if too few are
    /// free.
    pub(super) fn acquire(&mut self, hits: &[u64], count: usize) -> Option<Vec<usize>> {
        let found: Vec<usize> = hits.iter().filter_map(|hash| self.by_hash.get(hash).copied()).collect();
        let idle = found.iter().filter(|id| self.blocks[**id].holders == 0).count();
        let fresh = count.saturating_sub(found.len());
        if idle + fresh > self.free_count {
            return None;
        }
        for id in &found {
            self.hold(*id);
        }
        let mut held = found;
        self.grow(&mut held, count).then_some(held)
    }

    /// Adds new blocks until `held` has `count`. Adds no block and returns false if too few are free.
    pub(super) fn grow(&mut self, held: &mut Vec<usize>, count: usize) -> bool {
        let fresh = count.saturating_sub(held.len());
        if fresh > self.free_count {
            return false;
        }
        for _ in 0..fresh {
            let id = self.oldest;
            self.hold(id);
            if let Some(hash) = self.blocks[id].hash.take() {
                self.by_hash.remove(&hash);
            }
            held.push(id);
        }
        true
    }

    /// Remembers a held block under its hash, unless another block has it.
    pub(super) fn publish(&mut self, id: usize, hash: u64) {
        if self.blocks[id].hash.is_none() && !self.by_hash.contains_key(&hash) {
            self.blocks[id].hash = Some(hash);
            self.by_hash.insert(hash, id);
        }
    }

    /// Frees a sequence's blocks. The last of them will be forgotten first, because fewer prompts share it.
    pub(super) fn release(&mut self, held: &[usize]) {
        for id in held.iter().rev() {
            self.blocks[*id].holders -= 1;
            if self.blocks[*id].holders == 0 {
                self.push_free(*id);
            }
        }
    }

    fn hold(&mut self, id: usize) {
        if self.blocks[id].holders == 0 {
            self.unlink_free(id);
        }
        self.blocks[id].holders += 1;
    }

    fn push_free(&mut self, id: usize) {
        self.blocks[id].previous = self.newest;
        self.blocks[id].next = NONE;
        match self.newest {
            NONE => self.oldest = id,
            newest => self.blocks[newest].next = id,
        }
        self.newest = id;
        self.free_count += 1;
    }

    fn unlink_free(&mut self, id: usize) {
        let Block { previous, next, .. } = self.blocks[id];
        match previous {
            NONE => self.oldest = next,
            previous => self.blocks[previous].next = next,
        }
        match next {
            NONE => self.newest = previous,
            next => self.blocks[next].previous = previous,
        }
        self.free_count -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remember(pool: &mut BlockPool, hashes: &[u64]) {
        let held = pool.acquire(&[], hashes.len()).unwrap();
        held.iter().zip(hashes).for_each(|(id, hash)| pool.publish(*id, *hash));
        pool.release(&held);
    }

    #[test]
    fn a_released_prefix_is_found_again() {
        let mut pool = BlockPool::new(8);
        remember(&mut pool, &[1, 2, 3]);
        assert_eq!(pool.count_hits(&[1, 2, 9]), 2);
        let held = pool.acquire(&[1, 2], 4).unwrap();
        assert_eq!((held.len(), pool.free_count), (4, 4));
    }

    #[test]
    fn the_least_recently_used_is_forgotten_first_and_a_tail_before_its_head() {
        let mut pool = BlockPool::new(6);
        remember(&mut pool, &[1, 2, 3]);
        remember(&mut pool, &[7, 8, 9]);
        let taken = pool.acquire(&[], 1).unwrap();
        assert_eq!((pool.count_hits(&[1, 2, 3]), pool.count_hits(&[7, 8, 9])), (2, 3));
        pool.release(&taken);
    }

    #[test]
    fn a_prefix_that_is_hit_counts_against_the_free_blocks() {
        let mut pool = BlockPool::new(4);
        remember(&mut pool, &[1, 2]);
        assert!(pool.acquire(&[1, 2], 5).is_none());
        assert_eq!(pool.free_count, 4);
        let first = pool.acquire(&[1, 2], 3).unwrap();
        let second = pool.acquire(&[1, 2], 3).unwrap();
        assert_eq!(pool.free_count, 0);
        assert!(!pool.grow(&mut second.clone(), 4));
        pool.release(&first);
        assert_eq!(pool.free_count, 1);
        pool.release(&second);
        assert_eq!(pool.free_count, 4);
        assert!(pool.usage().abs() < f64::EPSILON);
    }
}
