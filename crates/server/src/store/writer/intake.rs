//! Intake that waits for its group: a line for each account, which take turns, so that an account waits for one write of each
//! other, however many they have put in line.

use std::collections::{BTreeMap, VecDeque};

use overnight_domain::scheduler::AccountKey;

use crate::store::error::StoreError;
use crate::store::writer::operation::Jobs;

pub(super) const FULL: &str = "the queue of writes is full";
const WRITES_MAX: usize = 4_096;
const BYTES_MAX: usize = 256 << 20;
/// Whoever has nothing in line gets a write of so many bytes in though the queue is full.
const NEWCOMER_BYTES_MAX: usize = 64 << 10;
/// One account has at most this part of either.
const PARTS: usize = 4;

/// The intake that waits.
#[derive(Default)]
pub(super) struct Intake {
    lines: BTreeMap<Option<AccountKey>, Line>,
    /// The accounts with a line, each once; whose turn is next in front.
    ring: VecDeque<Option<AccountKey>>,
    count: usize,
    bytes: usize,
}

#[derive(Default)]
struct Line {
    writes: VecDeque<Box<dyn Jobs>>,
    bytes: usize,
}

impl Intake {
    /// Puts a write at the end of its account's line. An empty line takes one of any size that the queue has room for.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] where the queue or the account's part of it is full.
    pub(super) fn push(&mut self, write: Box<dyn Jobs>) -> Result<(), StoreError> {
        let (account, bytes) = (write.account(), write.bytes());
        let is_full = self.count >= WRITES_MAX || self.bytes + bytes > BYTES_MAX;
        let is_newcomer = bytes <= NEWCOMER_BYTES_MAX && !self.lines.contains_key(&account);
        if is_full && !(is_newcomer && self.lines.len() < WRITES_MAX) {
            return Err(StoreError::Unavailable(FULL));
        }
        if let Some(Line { writes, bytes: held }) = self.lines.get(&account)
            && (writes.len() >= WRITES_MAX / PARTS || held + bytes > BYTES_MAX / PARTS)
        {
            return Err(StoreError::Unavailable(FULL));
        }
        let line = self.lines.entry(account).or_default();
        if line.writes.is_empty() {
            self.ring.push_back(account);
        }
        line.writes.push_back(write);
        line.bytes += bytes;
        (self.count, self.bytes) = (self.count + 1, self.bytes + bytes);
        Ok(())
    }

    /// Whether any account's first write has at most `room` bytes.
    pub(super) fn has(&self, room: usize) -> bool {
        self.ring.iter().any(|account| self.fits(account, room))
    }

    /// The first write of the account whose turn it is, of those whose first write has at most `room` bytes.
    pub(super) fn pop(&mut self, room: usize) -> Option<Box<dyn Jobs>> {
        let place = self.ring.iter().position(|account| self.fits(account, room))?;
        let account = self.ring.remove(place)?;
        let line = self.lines.get_mut(&account)?;
        let write = line.writes.pop_front()?;
        let bytes = write.bytes();
        line.bytes -= bytes;
        if line.writes.is_empty() {
            self.lines.remove(&account);
        } else {
            self.ring.push_back(account);
        }
        (self.count, self.bytes) = (self.count - 1, self.bytes - bytes);
        Some(write)
    }

    fn fits(&self, account: &Option<AccountKey>, room: usize) -> bool {
        let first = self.lines.get(account).and_then(|line| line.writes.front());
        first.is_some_and(|write| write.bytes() <= room)
    }

    /// How many writes wait.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// The bytes that they hold.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}
