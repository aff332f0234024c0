//! How many cells are kept for prefixes: as many as have been asked for.
//!
//! A kept cell costs a little of every step, and pays only if a later prompt begins with it. So the bound is 0 at first, rises
//! to its greatest value when a prompt would have begun with a sequence that was dropped, and halves with each that was
//! kept for nothing. The tokens of dropped sequences are remembered for that, as in ARC (Megiddo and Modha, FAST 2003).

use std::collections::VecDeque;

use super::shared_length;
use crate::model::Token;

/// A kept sequence was of use if it saved at least this many tokens that no other held.
pub(super) const USEFUL_TOKENS_MIN: usize = 16;
/// How many dropped sequences are remembered.
const DROPPED_MAX: usize = 32;

/// The bound on the cells of kept sequences.
#[derive(Debug)]
pub(super) struct KeptBound {
    cells: usize,
    cells_max: usize,
    dropped: VecDeque<Vec<Token>>,
}

impl KeptBound {
    pub(super) fn new(cells_max: usize) -> Self {
        Self { cells: 0, cells_max, dropped: VecDeque::new() }
    }

    /// The most cells that may be kept now.
    pub(super) fn cells(&self) -> usize {
        self.cells
    }

    /// Notes that a sequence was dropped because of the bound.
    pub(super) fn drop_sequence(&mut self, tokens: Vec<Token>, was_useful: bool) {
        if !was_useful {
            self.cells /= 2;
        }
        self.dropped.truncate(DROPPED_MAX - 1);
        self.dropped.push_front(tokens);
    }

    /// Notes that a prompt begins of which `held` tokens are in the cache.
    pub(super) fn begin_prompt(&mut self, prompt: &[Token], held: usize) {
        let is_missed = |dropped: &Vec<Token>| shared_length(dropped, prompt) >= held + USEFUL_TOKENS_MIN;
        if let Some(missed) = self.dropped.iter().position(is_missed) {
            self.dropped.remove(missed);
            self.cells = self.cells_max;
        }
    }
}
