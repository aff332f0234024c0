//! The decoder together with an exact record of what its key-value cache holds.
//!
//! A sequence that ends stays in the cache for its prefix, until its cells or its number are needed or more are kept
//! than pays ([`bound`]): the one used longest ago goes first. A new sequence starts as a copy of the longest prefix that any sequence, running or kept,
//! has computed of its prompt.

mod bound;
mod cells;
#[cfg(test)]
mod tests;

use self::{
    bound::{KeptBound, USEFUL_TOKENS_MIN},
    cells::Cells,
};
use crate::model::{BatchEntry, Capacity, DecodeFailed, Decoder, Token};

/// A computed prefix of some prompt: the first `length` tokens of `sequence`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    pub sequence: usize,
    /// How many tokens of it are shared.
    pub length: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Free,
    Running,
    Kept { used_at: u64 },
}

#[derive(Debug)]
struct Sequence {
    tokens: Vec<Token>,
    cells: Vec<usize>,
    usage: Use,
    /// Whether it saved a prompt tokens that no other sequence held.
    was_useful: bool,
}

/// A [`Decoder`] and the record of its cache.
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
    /// The record for a decoder whose sequences are all empty.
    #[must_use]
    pub fn new(decoder: D, capacity: Capacity) -> Self {
        let empty =
            || Sequence { tokens: Vec::new(), cells: Vec::new(), usage: Use::Free, was_useful: false };
        Self {
            decoder,
            cells: Cells::new(capacity.cells),
            sequences: (0..capacity.sequences).map(|_| empty()).collect(),
            kept_bound: KeptBound::new(capacity.kept_cells),
            shares_prefixes: capacity.shares_prefixes,
            ticks: 0,
        }
    }

    /// The part of the cells that running sequences hold, from 0 to 1; what is kept for its prefix can be dropped.
    #[must_use]
    pub fn busy_share(&self) -> f64 {
        let count = |cells: usize| f64::from(u32::try_from(cells).unwrap_or(u32::MAX));
        count(self.cells.busy_count()) / count(self.cells.total().max(1))
    }

    /// How many tokens of a sequence are computed.
    #[must_use]
    pub fn computed(&self, sequence: usize) -> usize {
        self.sequences[sequence].tokens.len()
    }

    /// The longest computed prefix of `prompt`; `None` where nothing of it is computed.
    #[must_use]
    pub fn find_prefix(&self, prompt: &[Token]) -> Option<Prefix> {
        if !self.shares_prefixes {
            return None;
        }
        let shared = |(sequence, held): (usize, &Sequence)| {
            let length = shared_length(&held.tokens, prompt);
            (length > 0).then_some(Prefix { sequence, length })
        };
        self.sequences.iter().enumerate().filter_map(shared).max_by_key(|prefix| prefix.length)
    }

    /// Learns from a prompt that is to begin with `prefix` what is worth keeping.
    pub fn note_prompt(&mut self, prompt: &[Token], prefix: Option<Prefix>) {
        let held = prefix.map_or(0, |prefix| prefix.length);
        self.kept_bound.begin_prompt(prompt, held);
        let Some(Prefix { sequence, length }) = prefix else { return };
        let others = self.sequences.iter().enumerate().filter(|(other, _)| *other != sequence);
        let elsewhere = others.map(|(_, other)| shared_length(&other.tokens, prompt)).max().unwrap_or(0);
        self.sequences[sequence].was_useful |= length >= elsewhere + USEFUL_TOKENS_MIN;
    }

    pub fn forget_kept(&mut self) {
        while let Some(sequence) = self.longest_unused(None) {
            self.forget(sequence);
        }
    }

    /// Drops kept sequences, the longest unused first, until `cells` cells and a sequence are free. The sequence
    /// `spared` is not dropped. Returns whether there is room now.
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

    /// Starts a running sequence with what `prefix` holds, or empty; `None` if no sequence is free.
    pub fn start(&mut self, prefix: Option<Prefix>) -> Option<usize> {
        let started = self.sequences.iter().position(|held| held.usage == Use::Free)?;
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

    /// Computes one step and records its tokens.
    ///
    /// # Errors
    /// [`DecodeFailed`]; then every sequence of the batch has to be forgotten.
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

    /// The logits of an entry of the last batch.
    #[must_use]
    pub fn logits(&self, index: usize) -> &[f32] {
        self.decoder.logits(index)
    }

    /// Ends a running sequence and keeps it for its prefix, unless another one holds all of it already.
    pub fn finish(&mut self, sequence: usize) {
        if !self.shares_prefixes || self.sequences[sequence].tokens.is_empty() {
            return self.forget(sequence);
        }
        self.rest(sequence);
        let kept = |held: &Sequence| matches!(held.usage, Use::Kept { .. });
        let tokens = std::mem::take(&mut self.sequences[sequence].tokens);
        let covering = self.sequences.iter().position(|held| kept(held) && held.tokens.starts_with(&tokens));
        let covered: Vec<usize> = (0..self.sequences.len())
            .filter(|&other| other != sequence && kept(&self.sequences[other]))
            .filter(|&other| tokens.starts_with(&self.sequences[other].tokens))
            .collect();
        self.sequences[sequence].tokens = tokens;
        if let Some(covering) = covering {
            self.touch(covering);
            self.forget(sequence);
            return self.bound_kept(Some(covering));
        }
        covered.into_iter().for_each(|other| self.forget(other));
        self.touch(sequence);
        self.bound_kept(Some(sequence));
    }

    /// Drops kept sequences, the longest unused first, while all but the running ones hold too much. The sequence
    /// `newest` stays until the next one starts, however large it is: that most likely shares its prefix.
    fn bound_kept(&mut self, newest: Option<usize>) {
        let bound = self.kept_bound.cells();
        while self.cells.total() - self.cells.free_count() - self.cells.busy_count() > bound {
            let Some(sequence) = self.longest_unused(newest) else { return };
            let held = &mut self.sequences[sequence];
            let (tokens, was_useful) = (std::mem::take(&mut held.tokens), held.was_useful);
            self.kept_bound.drop_sequence(tokens, was_useful);
            self.forget(sequence);
        }
    }

    /// Ends a sequence and frees what it alone holds.
    pub fn forget(&mut self, sequence: usize) {
        self.rest(sequence);
        self.decoder.clear(sequence);
        let held = &mut self.sequences[sequence];
        held.tokens.clear();
        held.usage = Use::Free;
        held.was_useful = false;
        for cell in held.cells.drain(..) {
            self.cells.give_back(cell);
        }
    }

    /// Notes that a sequence runs no longer.
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

/// How many tokens two sequences have in common from their start.
#[must_use]
pub fn shared_length(left: &[Token], right: &[Token]) -> usize {
    left.iter().zip(right).take_while(|(one, other)| one == other).count()
}
