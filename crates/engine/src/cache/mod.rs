//! The decoder with an exact record of its key-value cache.
//!
//! An ended sequence stays in the cache for its prefix, until its cells or its number are needed or more are kept than pays ([`bound`]):
//! the least recently used is dropped first. A new sequence starts as a copy of the longest prefix that any sequence, running or kept, has
//! computed of its prompt, if both have the same salt.

mod bound;
mod cells;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use self::{
    bound::{KeptBound, USEFUL_TOKENS_MIN},
    cells::Cells,
};
use crate::model::{BatchEntry, Capacity, DecodeFailed, Decoder, Token};

/// The first `length` tokens of `sequence`, which some prompt begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    pub sequence: usize,
    pub length: usize,
}

/// A prompt or a computed sequence. Tokens with different salts share no prefix, so no client can find out what was computed for others.
#[derive(Clone, Copy, Debug)]
pub struct Salted<'a> {
    pub salt: Option<&'a str>,
    pub tokens: &'a [Token],
}

impl Salted<'_> {
    /// The length of the common prefix; 0 if the salts differ.
    #[must_use]
    pub fn shared_length(self, other: Self) -> usize {
        if self.salt != other.salt {
            return 0;
        }
        self.tokens.iter().zip(other.tokens).take_while(|(one, other)| one == other).count()
    }

    fn starts_with(self, other: Self) -> bool {
        self.shared_length(other) == other.tokens.len()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Free,
    Running,
    Kept { used_at: u64 },
}

#[derive(Debug)]
struct Sequence {
    salt: Option<Arc<str>>,
    tokens: Vec<Token>,
    cells: Vec<usize>,
    usage: Use,
    /// Whether it saved a prompt tokens that no other sequence held.
    was_useful: bool,
}

impl Sequence {
    fn salted(&self) -> Salted<'_> {
        Salted { salt: self.salt.as_deref(), tokens: &self.tokens }
    }
}

#[derive(Debug)]
pub struct Cache<D> {
    decoder: D,
    cells: Cells,
    sequences: Vec<Sequence>,
    kept_bound: KeptBound,
    shares_prefixes: bool,
    ticks: u64,
}

impl<D: Decoder> Cache<D> {
    /// All sequences of `decoder` must be empty.
    #[must_use]
    pub fn new(decoder: D, capacity: Capacity) -> Self {
        let empty = || Sequence {
            salt: None,
            tokens: Vec::new(),
            cells: Vec::new(),
            usage: Use::Free,
            was_useful: false,
        };
        Self {
            decoder,
            cells: Cells::new(capacity.cells),
            sequences: (0..capacity.sequences).map(|_| empty()).collect(),
            kept_bound: KeptBound::new(capacity.kept_cells),
            shares_prefixes: capacity.shares_prefixes,
            ticks: 0,
        }
    }

    /// The share of cells that running sequences hold, from 0 to 1. Kept prefixes do not count: they can be dropped.
    #[must_use]
    pub fn busy_share(&self) -> f64 {
        let count = |cells: usize| f64::from(u32::try_from(cells).unwrap_or(u32::MAX));
        count(self.cells.busy_count()) / count(self.cells.total().max(1))
    }

    /// The computed tokens of a sequence.
    #[must_use]
    pub fn tokens(&self, sequence: usize) -> &[Token] {
        &self.sequences[sequence].tokens
    }

    /// How many tokens of a sequence are computed.
    #[must_use]
    pub fn computed(&self, sequence: usize) -> usize {
        self.sequences[sequence].tokens.len()
    }

    /// The longest computed prefix of `prompt`.
    #[must_use]
    pub fn find_prefix(&self, prompt: Salted<'_>) -> Option<Prefix> {
        if !self.shares_prefixes {
            return None;
        }
        let shared = |(sequence, held): (usize, &Sequence)| {
            let length = held.salted().shared_length(prompt);
            (length > 0).then_some(Prefix { sequence, length })
        };
        self.sequences.iter().enumerate().filter_map(shared).max_by_key(|prefix| prefix.length)
    }

    /// Updates the bound, given a prompt that will begin with `prefix`.
    pub fn note_prompt(&mut self, prompt: Salted<'_>, prefix: Option<Prefix>) {
        let held = prefix.map_or(0, |prefix| prefix.length);
        self.kept_bound.begin_prompt(prompt, held);
        let Some(Prefix { sequence, length }) = prefix else { return };
        let others = self.sequences.iter().enumerate().filter(|(other, _)| *other != sequence);
        let elsewhere = others.map(|(_, other)| other.salted().shared_length(prompt)).max().unwrap_or(0);
        self.sequences[sequence].was_useful |= length >= elsewhere + USEFUL_TOKENS_MIN;
    }

    pub fn forget_kept(&mut self) {
        while let Some(sequence) = self.longest_unused(None) {
            self.forget(sequence);
        }
    }

    /// Drops kept sequences except `spared`, the least recently used first, until `cells` cells and a sequence are free. Returns false if
    /// that is impossible.
    pub fn make_room(&mut self, cells: usize, spared: Option<usize>) -> bool {
        loop {
            let has_sequence = self.sequences.iter().any(|held| held.usage == Use::Free);
            if has_sequence && self.cells.free_count() >= cells {
                return true;
            }
            match self.longest_unused(spared) {
                Some(sequence) => self.forget(sequence),
                None => return false,
            }
        }
    }

    /// Starts a running sequence of this salt with `prefix`, or empty; `None` if no sequence is free.
    pub fn start(&mut self, salt: Option<Arc<str>>, prefix: Option<Prefix>) -> Option<usize> {
        let started = self.sequences.iter().position(|held| held.usage == Use::Free)?;
        self.sequences[started].salt = salt;
        self.sequences[started].usage = Use::Running;
        if let Some(Prefix { sequence, length }) = prefix {
            self.touch(sequence);
            self.decoder.copy_prefix(sequence, started, length);
            let tokens = self.sequences[sequence].tokens[..length].to_vec();
            let cells = self.sequences[sequence].cells[..length].to_vec();
            for cell in &cells {
                self.cells.share(*cell);
            }
            self.sequences[started].tokens = tokens;
            self.sequences[started].cells = cells;
        }
        self.bound_kept(None);
        Some(started)
    }

    /// Computes one step and records its tokens. After a failure every sequence of the batch must be forgotten.
    pub fn decode(&mut self, batch: &[BatchEntry]) -> Result<(), DecodeFailed> {
        if batch.len() > self.cells.free_count() {
            return Err(DecodeFailed("the key-value cache is full".to_owned()));
        }
        self.decoder.decode(batch)?;
        for entry in batch {
            let held = &mut self.sequences[entry.sequence];
            debug_assert_eq!(held.tokens.len(), entry.position, "a gap in a sequence");
            held.tokens.push(entry.token);
            held.cells.extend(self.cells.take());
        }
        Ok(())
    }

    /// For an entry of the last batch.
    #[must_use]
    pub fn logits(&self, index: usize) -> &[f32] {
        self.decoder.logits(index)
    }

    /// Ends a running sequence and keeps it for its prefix, unless another one holds all of it.
    pub fn finish(&mut self, sequence: usize) {
        if !self.shares_prefixes || self.sequences[sequence].tokens.is_empty() {
            return self.forget(sequence);
        }
        self.rest(sequence);
        let finished = self.sequences[sequence].salted();
        let others = self
            .sequences
            .iter()
            .enumerate()
            .filter(|(other, held)| *other != sequence && matches!(held.usage, Use::Kept { .. }));
        let covering = others.clone().find(|(_, held)| held.salted().starts_with(finished));
        let covering = covering.map(|(other, _)| other);
        let covered = others.filter(|(_, held)| finished.starts_with(held.salted()));
        let covered: Vec<usize> = covered.map(|(other, _)| other).collect();
        if let Some(covering) = covering {
            self.touch(covering);
            self.forget(sequence);
            return self.bound_kept(Some(covering));
        }
        covered.into_iter().for_each(|other| self.forget(other));
        self.touch(sequence);
        self.bound_kept(Some(sequence));
    }

    /// Drops kept sequences, the least recently used first, down to the bound. The sequence `newest` stays until the next one starts,
    /// however large: the next one most likely shares its prefix.
    fn bound_kept(&mut self, newest: Option<usize>) {
        let bound = self.kept_bound.cells();
        while self.cells.total() - self.cells.free_count() - self.cells.busy_count() > bound {
            let Some(sequence) = self.longest_unused(newest) else { return };
            let held = &mut self.sequences[sequence];
            let (salt, tokens) = (held.salt.take(), std::mem::take(&mut held.tokens));
            self.kept_bound.drop_sequence(salt, tokens, held.was_useful);
            self.forget(sequence);
        }
    }

    /// Ends a sequence and frees its unshared cells.
    pub fn forget(&mut self, sequence: usize) {
        self.rest(sequence);
        self.decoder.clear(sequence);
        let held = &mut self.sequences[sequence];
        held.salt = None;
        held.tokens.clear();
        held.usage = Use::Free;
        held.was_useful = false;
        for cell in held.cells.drain(..) {
            self.cells.give_back(cell);
        }
    }

    fn rest(&mut self, sequence: usize) {
        let held = &mut self.sequences[sequence];
        if held.usage == Use::Running {
            held.usage = Use::Kept { used_at: self.ticks };
            held.cells.iter().for_each(|&cell| self.cells.rest(cell));
        }
    }

    fn touch(&mut self, sequence: usize) {
        self.ticks += 1;
        if let Use::Kept { used_at } = &mut self.sequences[sequence].usage {
            *used_at = self.ticks;
        }
    }

    fn longest_unused(&self, spared: Option<usize>) -> Option<usize> {
        let kept = |(sequence, held): (usize, &Sequence)| match held.usage {
            Use::Kept { used_at } if spared != Some(sequence) => Some((used_at, sequence)),
            _ => None,
        };
        self.sequences.iter().enumerate().filter_map(kept).min().map(|(_, sequence)| sequence)
    }
}
