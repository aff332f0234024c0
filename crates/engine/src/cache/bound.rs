//! How many cells are kept for prefixes.
//!
//! A kept cell costs a little in every step, and pays only if a later prompt begins with it. So the bound is 0 at first, rises to its
//! maximum when a prompt would have begun with a dropped sequence, and halves with each sequence that was kept in vain. The tokens of
//! dropped sequences are remembered for that, as in ARC (Megiddo and Modha, FAST 2003).

use std::{collections::VecDeque, sync::Arc};

use super::Salted;
use crate::model::Token;

/// A kept sequence was useful if it saved at least this many tokens that no other held.
pub(super) const USEFUL_TOKENS_MIN: usize = 16;
const DROPPED_MAX: usize = 32;

#[derive(Debug)]
pub(super) struct KeptBound {
    cells: usize,
    cells_max: usize,
    dropped: VecDeque<(Option<Arc<str>>, Vec<Token>)>,
}

impl KeptBound {
    pub(super) fn new(cells_max: usize) -> Self {
        Self { cells: 0, cells_max, dropped: VecDeque::new() }
    }

    pub(super) fn cells(&self) -> usize {
        self.cells
    }

    /// A sequence was dropped because of the bound.
    pub(super) fn drop_sequence(&mut self, salt: Option<Arc<str>>, tokens: Vec<Token>, was_useful: bool) {
        if !was_useful {
            self.cells /= 2;
        }
        self.dropped.truncate(DROPPED_MAX - 1);
        self.dropped.push_front((salt, tokens));
    }

    /// A prompt begins, of which `held` tokens are in the cache.
    pub(super) fn begin_prompt(&mut self, prompt: Salted<'_>, held: usize) {
        let missed = self.dropped.iter().position(|(salt, tokens)| {
            let dropped = Salted { salt: salt.as_deref(), tokens };
            dropped.shared_length(prompt) >= held + USEFUL_TOKENS_MIN
        });
        if let Some(missed) = missed {
            self.dropped.remove(missed);
            self.cells = self.cells_max;
        }
    }
}
