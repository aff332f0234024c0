//! Where writes wait: two queues, one drained before the other, and transactions. Accounts take turns in that of intake.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::store::error::StoreError;
use crate::store::writer::disk::Allowance;
use crate::store::writer::group::WriteGroup;
use crate::store::writer::intake::{FULL, Intake};
use crate::store::writer::operation::{Jobs, WriteClass};
use crate::store::writer::transactions::Transaction;

const TRANSACTIONS_MAX: usize = 1_024;
const GROUP_CONTROL_ROWS_MAX: usize = 512;
const GROUP_INTAKE_ROWS_MAX: usize = 256;
const GROUP_INTAKE_BYTES_MAX: usize = 4 << 20;
const SMALL_BYTES_MAX: usize = 16 << 10;

/// The queues of writes, and what wakes the writer.
#[derive(Default)]
pub(super) struct WriteQueues {
    waiting: Mutex<Waiting>,
    wake: Notify,
}

#[derive(Default)]
struct Waiting {
    control: VecDeque<Box<dyn Jobs>>,
    intake: Intake,
    /// Whether the last group had small intake only, and left large intake in line.
    is_large_next: bool,
    is_large_held: bool,
    /// Whether the last group had large intake.
    took_large: bool,
    transactions: VecDeque<Transaction>,
    takes_transactions: bool,
    refusing: Option<&'static str>,
    /// What the disk has room for, less the intake that waits.
    allowance: Allowance,
    closed: bool,
}

impl Waiting {
    /// The longest write of intake that the next group takes. Small writes have a group of their own before each group of large
    /// ones: the commit of some MiB takes many times as long.
    fn longest_of_group(&self) -> usize {
        let takes_large = !self.is_large_held && (self.is_large_next || !self.intake.has(SMALL_BYTES_MAX));
        if takes_large { usize::MAX } else { SMALL_BYTES_MAX }
    }
}

impl WriteQueues {
    /// Puts a write in line for [`Self::take`]. Intake is refused when its queue is full, or the disk takes no writes or has
    /// no room for it.
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
        let longest = waiting.longest_of_group();
        let (mut rows, mut bytes) = (0, 0);
        while rows < GROUP_INTAKE_ROWS_MAX
            && bytes < GROUP_INTAKE_BYTES_MAX
            && let Some(write) = waiting.intake.pop(longest)
        {
            (count, rows, bytes) = (count + 1, rows + write.rows(), bytes + write.bytes());
            group.push(write);
        }
        waiting.took_large = bytes > SMALL_BYTES_MAX && longest > SMALL_BYTES_MAX;
        waiting.is_large_next = longest == SMALL_BYTES_MAX && waiting.intake.len() > 0;
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

    /// Whether the last group had large intake, and others have come meanwhile.
    pub(super) fn has_made_others_wait(&self) -> bool {
        let waiting = self.waiting();
        waiting.took_large && (!waiting.control.is_empty() || waiting.intake.has(SMALL_BYTES_MAX))
    }

    /// From now on large intake waits, or is taken again.
    pub(super) fn hold_large(&self, is_held: bool) {
        self.waiting().is_large_held = is_held;
    }

    /// Whether anything waits that would be taken now.
    pub(super) fn is_ready(&self) -> bool {
        let waiting = self.waiting();
        let has_intake = waiting.intake.has(waiting.longest_of_group());
        has_intake || !waiting.control.is_empty() || !waiting.transactions.is_empty()
    }

    /// Whether anything waits.
    pub(super) fn is_empty(&self) -> bool {
        let waiting = self.waiting();
        waiting.control.is_empty() && waiting.intake.len() == 0 && waiting.transactions.is_empty()
    }

    /// How many writes wait.
    pub(super) fn depth(&self) -> usize {
        let waiting = self.waiting();
        waiting.control.len() + waiting.intake.len() + waiting.transactions.len()
    }

    /// Ends when a write has come since the last call, the queues were closed, or [`Self::wake`] was called.
    pub(super) async fn woken(&self) {
        self.wake.notified().await;
    }

    /// Ends [`Self::woken`].
    pub(super) fn wake(&self) {
        self.wake.notify_one();
    }

    /// From now on intake is refused with this reason, or taken again.
    pub(super) fn set_refusing(&self, why: Option<&'static str>) {
        self.waiting().refusing = why;
    }

    /// Why intake is refused, if it is.
    pub(super) fn refusing(&self) -> Option<&'static str> {
        self.waiting().refusing
    }

    /// From now on the disk has room for this, and for no more. Where it has none for intake, what waits is refused.
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

    /// What the disk has room for.
    pub(super) fn allowance(&self) -> Allowance {
        self.waiting().allowance
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

#[cfg(test)]
mod tests {
    use overnight_domain::scheduler::AccountKey;
    use tokio::sync::oneshot;
    use tokio::sync::oneshot::error::TryRecvError;

    use super::*;
    use crate::store::writer::operation::{Job, Operation};
    use crate::store::writes::{WriteOrder, WriteTransaction};

    type Reply = oneshot::Receiver<Result<(), StoreError>>;

    struct Create(usize);
    struct CreateOf(i64, usize);
    struct LeaseRun;
    struct Settle;

    macro_rules! queued {
        ($name:ident, $class:ident, $bytes:expr) => {
            queued!($name, $class, $bytes, |_| AccountKey(1));
        };
        ($name:ident, $class:ident, $bytes:expr, $account:expr) => {
            impl Operation for $name {
                type Answer = ();
                const CLASS: WriteClass = WriteClass::$class;
                const ORDER: WriteOrder = WriteOrder::NewRequest;

                fn bytes(&self) -> usize {
                    $bytes(self)
                }

                fn account(&self) -> Option<AccountKey> {
                    Some($account(self))
                }

                async fn apply(
                    jobs: &[Job<Self>],
                    _: &mut WriteTransaction<'_>,
                ) -> Result<Vec<()>, StoreError> {
                    Ok(vec![(); jobs.len()])
                }
            }
        };
    }
    queued!(Create, Intake, |create: &Create| create.0);
    queued!(CreateOf, Intake, |create: &CreateOf| create.1, |create: &CreateOf| AccountKey(create.0));
    queued!(LeaseRun, Advance, |_| 100);
    queued!(Settle, Control, |_| 100);

    fn push<O: Operation<Answer = ()>>(queues: &WriteQueues, operation: O) -> Result<Reply, StoreError> {
        let (reply, answer) = oneshot::channel();
        queues.push(Job { operation, reply }.into()).map(|()| answer)
    }

    fn room(intake_bytes: usize) -> Allowance {
        Allowance { intake_bytes: Some(intake_bytes), is_advance_held: false }
    }

    /// The accounts whose writes wait in intake, in the order in which groups take them.
    fn drained(queues: &WriteQueues) -> Vec<i64> {
        let mut waiting = queues.waiting();
        std::iter::from_fn(|| waiting.intake.pop(usize::MAX))
            .filter_map(|write| Some(write.account()?.0))
            .collect()
    }

    #[test]
    fn accounts_take_turns_in_intake() {
        let queues = WriteQueues::default();
        for account in [1, 1, 1, 1, 2, 2, 3] {
            push(&queues, CreateOf(account, 1)).expect("room");
        }
        assert_eq!(drained(&queues), [1, 2, 3, 1, 2, 1, 1]);
        assert!(queues.is_empty());
        push(&queues, CreateOf(2, 1)).expect("room");
        assert_eq!(drained(&queues), [2]);
    }

    #[test]
    fn small_intake_has_a_group_before_each_group_of_large_intake() {
        let queues = WriteQueues::default();
        let count = || queues.take().map_or(0, |group| group.count());
        for (account, bytes) in [(1, 8 << 20), (1, 8 << 20), (2, 1_000), (3, 1 << 20), (4, 1_000)] {
            push(&queues, CreateOf(account, bytes)).expect("room");
        }
        assert_eq!(count(), 2, "the small ones of accounts 2 and 4");
        push(&queues, CreateOf(2, 1_000)).expect("room");
        assert_eq!(count(), 1, "the first of account 1: small ones do not hold it up for ever");
        assert_eq!(count(), 1, "the small one that came meanwhile");
        assert_eq!(count(), 2, "the one of account 3 and the next of account 1");
        assert_eq!(count(), 0);
    }

    #[test]
    fn large_intake_that_is_held_waits_and_holds_nobody_up() {
        let queues = WriteQueues::default();
        let count = || queues.take().map_or(0, |group| group.count());
        push(&queues, CreateOf(1, 8 << 20)).expect("room");
        queues.hold_large(true);
        assert!(!queues.is_ready() && !queues.is_empty());
        assert_eq!(count(), 0);
        push(&queues, CreateOf(2, 1_000)).expect("room");
        assert!(queues.is_ready());
        assert_eq!(count(), 1);
        push(&queues, Settle).expect("control");
        assert!(queues.is_ready());
        assert_eq!(count(), 1);
        queues.hold_large(false);
        assert!(queues.is_ready());
        assert_eq!(count(), 1);
        assert!(!queues.has_made_others_wait());
        push(&queues, Settle).expect("control");
        assert!(queues.has_made_others_wait());
        assert_eq!(count(), 1);
        push(&queues, Settle).expect("control");
        assert!(!queues.has_made_others_wait(), "the last group was small");
    }

    #[test]
    fn an_account_that_fills_its_part_of_intake_leaves_the_rest_to_others() {
        let queues = WriteQueues::default();
        let push_until_full = |account, bytes| {
            (0..10_000).take_while(|_| push(&queues, CreateOf(account, bytes)).is_ok()).count()
        };
        assert_eq!(push_until_full(1, 8 << 20), 8);
        assert_eq!(push_until_full(2, 1), 1_024);
        assert_eq!(push_until_full(3, 100 << 20), 1, "an empty line takes one of any size");
        push(&queues, CreateOf(4, 8 << 20)).expect("room");
        let left = (256 << 20) - queues.waiting().intake.bytes();
        push(&queues, CreateOf(5, left)).expect("room");
        assert_eq!(push_until_full(6, 1_000), 1, "who has nothing in line gets a small one in");
        assert_eq!(push_until_full(7, 1 << 20), 0);
        assert_eq!(drained(&queues)[..6], [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn intake_takes_the_room_of_the_disk_and_no_more() {
        let queues = WriteQueues::default();
        push(&queues, Create(30)).expect("any number");
        queues.allow(room(100));
        assert_eq!(queues.allowance(), room(70), "what waits takes room already");
        push(&queues, Create(70)).expect("room");
        assert!(matches!(push(&queues, Create(1)), Err(StoreError::DiskReserved)));
        push(&queues, LeaseRun).expect("control");
        queues.allow(room(200));
        push(&queues, Create(1)).expect("room");
    }

    #[test]
    fn intake_that_waits_is_refused_once_the_disk_has_no_room() {
        let queues = WriteQueues::default();
        let mut settle = push(&queues, Settle).expect("control");
        let mut create = push(&queues, Create(30)).expect("any number");
        queues.allow(Allowance { is_advance_held: true, ..room(0) });
        assert!(matches!(create.try_recv(), Ok(Err(StoreError::DiskReserved))));
        assert!(matches!(settle.try_recv(), Err(TryRecvError::Empty)));
        assert!(matches!(push(&queues, LeaseRun), Err(StoreError::DiskReserved)));
        push(&queues, Settle).expect("control");
        assert_eq!(queues.take().expect("settles").count(), 2);
        queues.allow(Allowance::default());
        push(&queues, LeaseRun).expect("control");
        push(&queues, Create(30)).expect("any number");
    }
}
