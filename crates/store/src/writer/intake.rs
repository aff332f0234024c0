//! Intake that waits for its group: a line per account; accounts take turns, so that one waits for at most one write of each other, however
//! many are queued. Large writes have lines of their own, which small ones pass.

use std::collections::{BTreeMap, VecDeque};

use overnight_domain::scheduler::AccountKey;

use crate::error::StoreError;
use crate::writer::operation::Jobs;

pub(super) const FULL: &str = "the queue of writes is full";
const WRITES_MAX: usize = 4_096;
const BYTES_MAX: usize = 256 << 20;
/// A larger write is a large one.
pub(super) const SMALL_BYTES_MAX: usize = 16 << 10;
/// An account with no queued write gets one of this size in, even if the queue is full.
const NEWCOMER_BYTES_MAX: usize = 64 << 10;
/// One account has at most one in this many parts of either limit.
const PARTS: usize = 4;

#[derive(Default)]
pub(super) struct Intake {
    lines: BTreeMap<Whose, Line>,
    /// Lines, each once; the next turn in front.
    ring: VecDeque<Whose>,
    count: usize,
    bytes: usize,
}

/// The account of a line, and whether its writes are large.
type Whose = (Option<AccountKey>, bool);

#[derive(Default)]
struct Line {
    writes: VecDeque<Box<dyn Jobs>>,
    bytes: usize,
}

impl Intake {
    /// Appends a write to its line. An account without waiting writes may add one of any size that the queue has room for. Fails with
    /// [`StoreError::Unavailable`] if the queue or the account's part of it is full.
    pub(super) fn push(&mut self, write: Box<dyn Jobs>) -> Result<(), StoreError> {
        let (account, bytes) = (write.account(), write.bytes());
        let is_full = self.count >= WRITES_MAX || self.bytes + bytes > BYTES_MAX;
        let (writes, held) = self.held_by(account);
        let is_newcomer = bytes <= NEWCOMER_BYTES_MAX && writes == 0;
        if is_full && !(is_newcomer && self.lines.len() < WRITES_MAX) {
            return Err(StoreError::Unavailable(FULL));
        }
        if writes > 0 && (writes >= WRITES_MAX / PARTS || held + bytes > BYTES_MAX / PARTS) {
            return Err(StoreError::Unavailable(FULL));
        }
        let whose = (account, bytes > SMALL_BYTES_MAX);
        let line = self.lines.entry(whose).or_default();
        if line.writes.is_empty() {
            self.ring.push_back(whose);
        }
        line.writes.push_back(write);
        line.bytes += bytes;
        (self.count, self.bytes) = (self.count + 1, self.bytes + bytes);
        Ok(())
    }

    /// Number of an account's waiting writes, and their bytes.
    fn held_by(&self, account: Option<AccountKey>) -> (usize, usize) {
        let lines = [false, true].into_iter().filter_map(|is_large| self.lines.get(&(account, is_large)));
        lines.fold((0, 0), |(writes, bytes), line| (writes + line.writes.len(), bytes + line.bytes))
    }

    /// Whether any account's first write has at most `room` bytes.
    pub(super) fn has(&self, room: usize) -> bool {
        self.ring.iter().any(|whose| self.fits(whose, room))
    }

    /// The next account's first write, among first writes of at most `room` bytes.
    pub(super) fn pop(&mut self, room: usize) -> Option<Box<dyn Jobs>> {
        let place = self.ring.iter().position(|whose| self.fits(whose, room))?;
        let whose = self.ring.remove(place)?;
        let line = self.lines.get_mut(&whose)?;
        let write = line.writes.pop_front()?;
        let bytes = write.bytes();
        line.bytes -= bytes;
        if line.writes.is_empty() {
            self.lines.remove(&whose);
        } else {
            self.ring.push_back(whose);
        }
        (self.count, self.bytes) = (self.count - 1, self.bytes - bytes);
        Some(write)
    }

    fn fits(&self, whose: &Whose, room: usize) -> bool {
        let first = self.lines.get(whose).and_then(|line| line.writes.front());
        first.is_some_and(|write| write.bytes() <= room)
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}
