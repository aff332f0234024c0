//! Where writes wait: two queues, one drained before the other, and transactions.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::store::error::StoreError;
use crate::store::writer::group::WriteGroup;
use crate::store::writer::operation::{Jobs, WriteClass};
use crate::store::writer::transactions::Transaction;

const FULL: &str = "the queue of writes is full";
const INTAKE_WRITES_MAX: usize = 4_096;
const INTAKE_BYTES_MAX: usize = 64 << 20;
const TRANSACTIONS_MAX: usize = 1_024;
const GROUP_CONTROL_ROWS_MAX: usize = 512;
const GROUP_INTAKE_ROWS_MAX: usize = 256;
const GROUP_INTAKE_BYTES_MAX: usize = 4 << 20;

/// The queues of writes, and what wakes the writer.
#[derive(Default)]
pub(super) struct WriteQueues {
    waiting: Mutex<Waiting>,
    wake: Notify,
}

#[derive(Default)]
struct Waiting {
    control: VecDeque<Box<dyn Jobs>>,
    intake: VecDeque<Box<dyn Jobs>>,
    intake_bytes: usize,
    transactions: VecDeque<Transaction>,
    takes_transactions: bool,
    refusing: Option<&'static str>,
    closed: bool,
}

impl WriteQueues {
    /// Puts a write in line for [`Self::take`]. Intake is refused when its queue is full or the disk takes no writes.
    pub(super) fn push(&self, write: Box<dyn Jobs>) -> Result<(), StoreError> {
        let mut waiting = self.waiting();
        if waiting.closed {
            return Err(StoreError::Stopped);
        }
        match write.class() {
            WriteClass::Control => waiting.control.push_back(write),
            WriteClass::Intake => {
                if let Some(why) = waiting.refusing {
                    return Err(StoreError::Unavailable(why));
                }
                let bytes = waiting.intake_bytes + write.bytes();
                if waiting.intake.len() >= INTAKE_WRITES_MAX || bytes > INTAKE_BYTES_MAX {
                    return Err(StoreError::Unavailable(FULL));
                }
                waiting.intake_bytes = bytes;
                waiting.intake.push_back(write);
            }
        }
        drop(waiting);
        self.wake.notify_one();
        Ok(())
    }

    /// The next group, for `WriterCore::run`: control first, then intake, each up to its limit; `None` when nothing waits.
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
        let (mut rows, mut bytes) = (0, 0);
        while rows < GROUP_INTAKE_ROWS_MAX
            && bytes < GROUP_INTAKE_BYTES_MAX
            && let Some(write) = waiting.intake.pop_front()
        {
            waiting.intake_bytes -= write.bytes();
            (count, rows, bytes) = (count + 1, rows + write.rows(), bytes + write.bytes());
            group.push(write);
        }
        (count > 0).then_some(group)
    }

    /// From now on transactions may be put in line: somebody takes them.
    pub(super) fn take_transactions_in(&self) {
        self.waiting().takes_transactions = true;
    }

    pub(super) fn takes_transactions(&self) -> bool {
        self.waiting().takes_transactions
    }

    /// Puts a transaction in line, which is refused as intake is.
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

    /// The next transaction.
    pub(super) fn take_transaction(&self) -> Option<Transaction> {
        self.waiting().transactions.pop_front()
    }

    /// Drops every transaction that waits.
    pub(super) fn drop_transactions(&self) {
        self.waiting().transactions.clear();
    }

    /// Whether anything waits.
    pub(super) fn is_empty(&self) -> bool {
        let waiting = self.waiting();
        waiting.control.is_empty() && waiting.intake.is_empty() && waiting.transactions.is_empty()
    }

    /// How many writes wait.
    pub(super) fn depth(&self) -> usize {
        let waiting = self.waiting();
        waiting.control.len() + waiting.intake.len() + waiting.transactions.len()
    }

    /// Ends when a write has come since the last call, or the queues were closed.
    pub(super) async fn woken(&self) {
        self.wake.notified().await;
    }

    /// From now on intake is refused with this reason, or taken again.
    pub(super) fn set_refusing(&self, why: Option<&'static str>) {
        self.waiting().refusing = why;
    }

    /// Why intake is refused, if it is.
    pub(super) fn refusing(&self) -> Option<&'static str> {
        self.waiting().refusing
    }

    /// Nothing more is taken; the writer ends once the queues are empty.
    pub(super) fn close(&self) {
        self.waiting().closed = true;
        self.wake.notify_one();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.waiting().closed
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
