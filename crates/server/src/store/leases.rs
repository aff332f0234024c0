//! Taking requests from the queue for an engine, and giving them back. A lease is at-least-once by design: it ends
//! with a settle, a give-back, a cancel, or the death of its process, and every lease raises the row's epoch.

use std::collections::HashMap;

use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::{Group, Lease, Position, QueueKey};
use sqlx::Row;

use super::rows::{RowsStatement, chunks};
use super::tx::Statement;
use super::writer::{Job, Lane, Operation, Unit};
use super::{Store, StoreError};

/// What a lease took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leased {
    /// What is leased now, in the order asked for.
    pub leases: Vec<Lease>,
    /// What had gone from the queue or may not be leased, by `seq`.
    pub gone: Vec<i64>,
}

/// Leases the requests at `positions` of `group` that still wait and belong to no cancelled batch.
pub async fn take(
    store: &Store,
    group: Group,
    positions: Vec<Position>,
    now: i64,
) -> Result<Leased, StoreError> {
    store.writer().write(LeaseRun { group, positions, now }).await
}

/// How a lease is given back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GiveBack {
    /// The lease that it ends.
    pub lease: Lease,
    /// When it may be tried again, in milliseconds.
    pub retry_at: i64,
    /// Whether the attempt counts against the request.
    pub counted: bool,
    /// Whether it must run alone once.
    pub suspect: bool,
}

/// Puts a leased request back into the queue; `false` where the lease was no longer held.
pub async fn give_back(store: &Store, give_back: GiveBack) -> Result<bool, StoreError> {
    store.writer().write(give_back).await
}

/// Excludes requests of a batch that is marked cancelled; they end with the next chunk of its cancel.
macro_rules! not_of_cancelled_batch {
    () => {
        "NOT EXISTS (SELECT 1 FROM progress p JOIN batches b ON b.seq = p.batch
                     WHERE p.seq = queue.seq AND b.cancelled_at IS NOT NULL)"
    };
}
pub(super) use not_of_cancelled_batch;

pub(super) static TAKE: RowsStatement = RowsStatement::new(
    concat!(
        "UPDATE queue SET phase = 1, owner = ?, lease_epoch = lease_epoch + 1
         WHERE phase = 0 AND model = ? AND account = ? AND ",
        not_of_cancelled_batch!(),
        " AND (sort_key, seq) IN (VALUES"
    ),
    2,
    ") RETURNING seq, lease_epoch",
);

pub(super) static START: RowsStatement = RowsStatement::new(
    "UPDATE progress SET state = 2, in_progress_at = ? WHERE state = 1 AND seq IN (VALUES",
    1,
    ") RETURNING batch",
);

pub(super) struct LeaseRun {
    group: Group,
    positions: Vec<Position>,
    now: i64,
}

impl LeaseRun {
    async fn take(&self, unit: &mut Unit<'_>) -> Result<Leased, StoreError> {
        let mut epochs: HashMap<i64, i64> = HashMap::with_capacity(self.positions.len());
        for chunk in chunks(&self.positions) {
            let statement =
                TAKE.of(chunk.len()).bind(unit.owner.0).bind(self.group.model.0).bind(self.group.account.0);
            let statement = chunk.iter().fold(statement, |statement, position| {
                statement.bind(position.sort_key.as_bytes().to_vec()).bind(position.seq)
            });
            for row in unit.tx.fetch(statement).await? {
                epochs.insert(row.try_get(0)?, row.try_get(1)?);
            }
        }
        self.start(unit, &epochs.keys().copied().collect::<Vec<_>>()).await?;
        let mut leased = Leased { leases: Vec::with_capacity(epochs.len()), gone: Vec::new() };
        for position in &self.positions {
            match epochs.get(&position.seq) {
                Some(&epoch) => {
                    let key = QueueKey { group: self.group, position: position.clone() };
                    leased.leases.push(Lease { key, epoch });
                }
                None => leased.gone.push(position.seq),
            }
        }
        Ok(leased)
    }

    async fn start(&self, unit: &mut Unit<'_>, seqs: &[i64]) -> Result<(), StoreError> {
        for chunk in chunks(seqs) {
            let statement = START.of(chunk.len()).bind(self.now);
            let statement = chunk.iter().fold(statement, |statement, seq| statement.bind(seq));
            for row in unit.tx.fetch(statement).await? {
                unit.shift(row.try_get(0)?, RequestStatus::Registered, RequestStatus::InProgress, self.now);
            }
        }
        Ok(())
    }
}

impl Operation for LeaseRun {
    type Answer = Leased;
    const LANE: Lane = Lane::Control;

    fn rows(&self) -> usize {
        self.positions.len()
    }

    async fn apply(jobs: &[Job<Self>], unit: &mut Unit<'_>) -> Result<Vec<Leased>, StoreError> {
        let mut answers = Vec::with_capacity(jobs.len());
        for job in jobs {
            answers.push(job.operation.take(unit).await?);
        }
        Ok(answers)
    }
}

/// Binds `model, account, sort_key, seq`: the key of the queue.
pub(super) fn bind_key<'q>(statement: Statement<'q>, key: &QueueKey) -> Statement<'q> {
    let QueueKey { group, position } = key;
    statement
        .bind(group.model.0)
        .bind(group.account.0)
        .bind(position.sort_key.as_bytes().to_vec())
        .bind(position.seq)
}

pub(super) const RETURN: &str =
    "UPDATE queue SET phase = 0, owner = NULL, retry_at = ?, attempts = attempts + ?,
     suspect = ? WHERE phase = 1 AND owner = ?
     AND model = ? AND account = ? AND sort_key = ? AND seq = ? AND lease_epoch = ?";

impl Operation for GiveBack {
    type Answer = bool;
    const LANE: Lane = Lane::Control;

    async fn apply(jobs: &[Job<Self>], unit: &mut Unit<'_>) -> Result<Vec<bool>, StoreError> {
        let mut answers = Vec::with_capacity(jobs.len());
        for Job { operation: give_back, .. } in jobs {
            let update = sqlx::query(RETURN)
                .bind(give_back.retry_at)
                .bind(i64::from(give_back.counted))
                .bind(give_back.suspect)
                .bind(unit.owner.0);
            let update = bind_key(update, &give_back.lease.key).bind(give_back.lease.epoch);
            answers.push(unit.tx.execute(update).await? == 1);
        }
        Ok(answers)
    }
}
