use overnight_domain::scheduler::AccountKey;
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;

use super::*;
use crate::writer::operation::{Job, Operation};
use crate::writes::{WriteOrder, WriteTransaction};

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

            async fn apply(jobs: &[Job<Self>], _: &mut WriteTransaction<'_>) -> Result<Vec<()>, StoreError> {
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

/// Accounts of waiting intake, in the order of groups.
fn drained(queues: &WriteQueues) -> Vec<i64> {
    let mut waiting = queues.waiting();
    std::iter::from_fn(|| waiting.intake.pop(usize::MAX))
        .filter_map(|write| Some(write.account()?.0))
        .collect()
}

#[test]
fn accounts_take_turns_in_intake() {
    let queues = WriteQueues::default();
    assert_eq!(queues.depth(), 0);
    for account in [1, 1, 1, 1, 2, 2, 3] {
        push(&queues, CreateOf(account, 1)).expect("room");
    }
    assert_eq!(queues.depth(), 7);
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
    assert!(queues.waiting().intake.has(SMALL_BYTES_MAX), "the small one waits for it");
    assert_eq!(count(), 1, "the small one that came meanwhile");
    assert_eq!(count(), 2, "the one of account 3 and the next of account 1");
    assert_eq!(count(), 0);
}

#[test]
fn a_group_takes_so_many_rows_and_bytes_and_an_empty_one_is_none() {
    let queues = WriteQueues::default();
    let count = || queues.take().map_or(0, |group| group.count());
    for _ in 0..GROUP_CONTROL_ROWS_MAX + 2 {
        push(&queues, Settle).expect("control");
    }
    assert_eq!([count(), count()], [GROUP_CONTROL_ROWS_MAX, 2]);
    for _ in 0..GROUP_INTAKE_ROWS_MAX + 3 {
        push(&queues, Create(1)).expect("room");
    }
    assert_eq!([count(), count()], [GROUP_INTAKE_ROWS_MAX, 3]);
    for _ in 0..5 {
        push(&queues, Create(1 << 20)).expect("room");
    }
    assert_eq!([count(), count()], [4, 1]);
    assert!(queues.take().is_none());
}

#[test]
fn transactions_that_are_dropped_wait_no_more() {
    let queues = WriteQueues::default();
    let nothing = || Transaction(Box::new(|_| Box::pin(async {})));
    for _ in 0..3 {
        queues.push_transaction(nothing()).expect("room");
    }
    assert!(queues.take_transaction().is_some());
    assert!(queues.is_ready() && !queues.is_empty());
    assert_eq!(queues.depth(), 2);
    queues.drop_transactions();
    assert!(!queues.is_ready() && queues.is_empty() && queues.take_transaction().is_none());
    queues.set_refusing(Some("for a while"));
    assert!(matches!(queues.push_transaction(nothing()), Err(StoreError::Unavailable("for a while"))));
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
    assert_eq!(queues.depth(), 2, "one is held");
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
fn a_small_write_passes_a_large_one_of_its_account() {
    let queues = WriteQueues::default();
    push(&queues, CreateOf(1, 8 << 20)).expect("room");
    queues.hold_large(true);
    let mut small = push(&queues, CreateOf(1, 1_000)).expect("room");
    let group = queues.take().expect("the small one");
    assert_eq!(group.count(), 1);
    group.refuse(|| StoreError::Stopped);
    assert!(small.try_recv().is_ok());
    assert!(!queues.is_ready() && !queues.is_empty());
}

#[test]
fn an_account_that_fills_its_part_of_intake_leaves_the_rest_to_others() {
    let queues = WriteQueues::default();
    let push_until_full =
        |account, bytes| (0..10_000).take_while(|_| push(&queues, CreateOf(account, bytes)).is_ok()).count();
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
