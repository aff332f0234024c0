//! Queues of writes: two, one drained before the other, and transactions. Accounts take turns in intake.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::error::StoreError;
use crate::writer::disk::Allowance;
use crate::writer::group::WriteGroup;
use crate::writer::intake::{FULL, Intake, SMALL_BYTES_MAX};
use crate::writer::operation::{Jobs, WriteClass};
use crate::writer::transactions::Transaction;

const TRANSACTIONS_MAX: usize = 1_024;
const GROUP_CONTROL_ROWS_MAX: usize = 512;
const GROUP_INTAKE_ROWS_MAX: usize = 256;
const GROUP_INTAKE_BYTES_MAX: usize = 4 << 20;

#[derive(Default)]
pub(super) struct WriteQueues {
    waiting: Mutex<Waiting>,
    wake: Notify,
}

#[derive(Default)]
struct Waiting {
    control: VecDeque<Box<dyn Jobs>>,
    intake: Intake,
    /// Whether the last group had only small intake, and left large intake waiting.
    is_large_next: bool,
    is_large_held: bool,
    took_large: bool,
    transactions: VecDeque<Transaction>,
    takes_transactions: bool,
    refusing: Option<&'static str>,
    /// Why the last writes did not succeed, although more are tried.
    stuck: Option<&'static str>,
    /// Room of the disk, less waiting intake.
    allowance: Allowance,
    closed: bool,
}

impl Waiting {
    /// The longest intake for the next group. Small writes have a group of their own before each group of large ones: the commit of some
    /// MiB takes many times as long.
    fn longest_of_group(&self) -> usize {
        let takes_large = !self.is_large_held && (self.is_large_next || !self.intake.has(SMALL_BYTES_MAX));
        if takes_large { usize::MAX } else { SMALL_BYTES_MAX }
    }
}

impl WriteQueues {
    /// Queues a write for [`Self::take`]. Intake is refused if its queue is full, or the disk accepts no writes or has no room for it.
    pub(super) fn push(&self, write: Box<dyn Jobs>) -> Result<(), StoreError> {
        let mut waiting = self.waiting();
        if waiting.closed {
            return Err(StoreError::Stopped);
        }
        match write.class() {
            WriteClass::Advance if waiting.allowance.is_advance_held => return Err(StoreError::DiskReserved),
            WriteClass::Control | WriteClass::Advance => waiting.control.push_back(write),
            WriteClass::Intake => {
                if let Some(why) = waiting.refusing {
                    return Err(StoreError::Unavailable(why));
                }
                let room = waiting.allowance.room_after(write.bytes())?;
                waiting.intake.push(write)?;
                waiting.allowance.intake_bytes = room;
            }
        }
        drop(waiting);
        self.wake.notify_one();
        Ok(())
    }

    /// The next group, for `WriterCore::run`: control first, then intake, each up to its limit; `None` if none waits.
    pub(super) fn take(&self) -> Option<WriteGroup> {
        let mut waiting = self.waiting();
        let mut group = WriteGroup::default();
        let (mut count, mut rows) = (0, 0);
        while rows < GROUP_CONTROL_ROWS_MAX
            && let Some(write) = waiting.control.pop_front()
        {
            (count, rows) = (count + 1, rows + write.rows());
            group.push(write);
        }
        let longest = waiting.longest_of_group();
        let (mut rows, mut bytes, mut took_large) = (0, 0, false);
        while rows < GROUP_INTAKE_ROWS_MAX
            && bytes < GROUP_INTAKE_BYTES_MAX
            && let Some(write) = waiting.intake.pop(longest)
        {
            (count, rows, bytes) = (count + 1, rows + write.rows(), bytes + write.bytes());
            took_large |= write.bytes() > SMALL_BYTES_MAX;
            group.push(write);
        }
        waiting.took_large = took_large;
        waiting.is_large_next = longest == SMALL_BYTES_MAX && waiting.intake.len() > 0;
        (count > 0).then_some(group)
    }

    /// Accepts transactions from now on.
    pub(super) fn take_transactions_in(&self) {
        self.waiting().takes_transactions = true;
    }

    pub(super) fn takes_transactions(&self) -> bool {
        self.waiting().takes_transactions
    }

    /// Refused as intake is.
    pub(super) fn push_transaction(&self, transaction: Transaction) -> Result<(), StoreError> {
        let mut waiting = self.waiting();
        if waiting.closed {
            return Err(StoreError::Stopped);
        }
        if let Some(why) = waiting.refusing {
            return Err(StoreError::Unavailable(why));
        }
        if waiting.transactions.len() >= TRANSACTIONS_MAX {
            return Err(StoreError::Unavailable(FULL));
        }
        waiting.transactions.push_back(transaction);
        drop(waiting);
        self.wake.notify_one();
        Ok(())
    }

    pub(super) fn take_transaction(&self) -> Option<Transaction> {
        self.waiting().transactions.pop_front()
    }

    pub(super) fn drop_transactions(&self) {
        self.waiting().transactions.clear();
    }

    /// Whether the last group had large intake, and others wait.
    pub(super) fn has_made_others_wait(&self) -> bool {
        let waiting = self.waiting();
        let others = !waiting.control.is_empty() || !waiting.transactions.is_empty();
        waiting.took_large && (others || waiting.intake.has(SMALL_BYTES_MAX))
    }

    /// Holds back large intake, or accepts it again.
    pub(super) fn hold_large(&self, is_held: bool) {
        self.waiting().is_large_held = is_held;
    }

    /// Whether a waiting write would be taken now.
    pub(super) fn is_ready(&self) -> bool {
        let waiting = self.waiting();
        let has_intake = waiting.intake.has(waiting.longest_of_group());
        has_intake || !waiting.control.is_empty() || !waiting.transactions.is_empty()
    }

    pub(super) fn is_empty(&self) -> bool {
        let waiting = self.waiting();
        waiting.control.is_empty() && waiting.intake.len() == 0 && waiting.transactions.is_empty()
    }

    pub(super) fn depth(&self) -> usize {
        let waiting = self.waiting();
        waiting.control.len() + waiting.intake.len() + waiting.transactions.len()
    }

    /// Returns when a write has arrived since the last call, the queues were closed, or [`Self::wake`] was called.
    pub(super) async fn woken(&self) {
        self.wake.notified().await;
    }

    pub(super) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Refuses intake with this reason, or accepts it again.
    pub(super) fn set_refusing(&self, why: Option<&'static str>) {
        self.waiting().refusing = why;
    }

    pub(super) fn refusing(&self) -> Option<&'static str> {
        self.waiting().refusing
    }

    /// Notes that writes do not succeed for this reason, or that one did.
    pub(super) fn set_stuck(&self, why: Option<&'static str>) {
        self.waiting().stuck = why;
    }

    /// Why writes do not succeed, whether or not more are accepted.
    pub(super) fn trouble(&self) -> Option<&'static str> {
        let waiting = self.waiting();
        waiting.refusing.or(waiting.stuck)
    }

    /// Sets the disk's room. If there is none for intake, waiting intake is refused.
    pub(super) fn allow(&self, allowance: Allowance) {
        let mut waiting = self.waiting();
        let intake_bytes = allowance.intake_bytes.map(|room| room.saturating_sub(waiting.intake.bytes()));
        waiting.allowance = Allowance { intake_bytes, ..allowance };
        if allowance.intake_bytes != Some(0) {
            return;
        }
        let mut refused = std::mem::take(&mut waiting.intake);
        drop(waiting);
        while let Some(write) = refused.pop(usize::MAX) {
            write.refuse(&|| StoreError::DiskReserved);
        }
    }

    pub(super) fn allowance(&self) -> Allowance {
        self.waiting().allowance
    }

    /// Accepts no more writes; the writer ends once the queues are empty.
    pub(super) fn close(&self) {
        self.waiting().closed = true;
        self.wake.notify_one();
    }

    /// Closes the queues and refuses waiting writes: the writer is gone.
    pub(super) fn abandon(&self) {
        self.close();
        self.hold_large(false);
        while let Some(group) = self.take() {
            group.refuse(|| StoreError::Stopped);
        }
        self.drop_transactions();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.waiting().closed
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
