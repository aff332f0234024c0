//! Taking requests from the queue for an engine, and giving them back. A lease is at-least-once by design: it ends
//! with a settle, a give-back, a cancel, or the death of its process, and every lease raises the row's epoch.

use std::collections::HashMap;

use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::{Group, Lease, Position, QueueKey};

use super::rows::{RowsStatement, chunks, read_joined};
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

/// What waits of a list of positions, each with its epoch, since when it is in progress, and its batch. A batch that is marked cancelled
/// holds its requests back: they end with the next chunk of its cancel.
pub(super) static WAITING: RowsStatement = RowsStatement::new(
    "WITH v(sort_key, seq) AS (VALUES",
    2,
    ") SELECT group_concat(concat(q.seq, ',', q.lease_epoch, ',', q.in_progress_at, ',', p.batch), ';') FROM v
       CROSS JOIN queue q ON q.model = ? AND q.account = ? AND q.sort_key = v.sort_key AND q.seq = v.seq
       CROSS JOIN progress p ON p.seq = q.seq LEFT JOIN batches b ON b.seq = p.batch
       WHERE q.phase = 0 AND b.cancelled_at IS NULL",
);

/// Leases it. What was in progress before keeps the time since when.
pub(super) static TAKE: RowsStatement = RowsStatement::new(
    "UPDATE queue SET phase = 1, owner = ?, lease_epoch = lease_epoch + 1, \
                      in_progress_at = coalesce(in_progress_at, ?)
     WHERE model = ? AND account = ? AND (sort_key, seq) IN (VALUES",
    2,
    ")",
);

pub(super) struct LeaseRun {
    group: Group,
    positions: Vec<Position>,
    now: i64,
}

impl LeaseRun {
    async fn take(&self, unit: &mut Unit<'_>) -> Result<Leased, StoreError> {
        let mut epochs = self.find_waiting(unit).await?;
        let mut leased = Leased { leases: Vec::with_capacity(epochs.len()), gone: Vec::new() };
        for position in &self.positions {
            match epochs.remove(&position.seq) {
                Some(epoch) => {
                    let key = QueueKey { group: self.group, position: position.clone() };
                    leased.leases.push(Lease { key, epoch: epoch + 1 });
                }
                None => leased.gone.push(position.seq),
            }
        }
        for chunk in chunks(&leased.leases) {
            unit.tx.execute(self.bind_take(unit, chunk)).await?;
        }
        Ok(leased)
    }

    /// The epochs of what may be leased, by `seq`.
    async fn find_waiting(&self, unit: &mut Unit<'_>) -> Result<HashMap<i64, i64>, StoreError> {
        let mut epochs = HashMap::with_capacity(self.positions.len());
        for chunk in chunks(&self.positions) {
            let statement = chunk.iter().fold(WAITING.of(chunk.len()), bind_position);
            let statement = statement.bind(self.group.model.0).bind(self.group.account.0);
            for [seq, epoch, in_progress_at, batch] in read_joined(&unit.tx.fetch(statement).await?)? {
                if in_progress_at.is_none() {
                    unit.shift(batch, RequestStatus::Registered, RequestStatus::InProgress, self.now);
                }
                epochs.extend(seq.zip(epoch));
            }
        }
        Ok(epochs)
    }

    fn bind_take(&self, unit: &Unit<'_>, leases: &[Lease]) -> Statement<'static> {
        let Group { model, account } = self.group;
        let statement = TAKE.of(leases.len()).bind(unit.owner.0).bind(self.now);
        let statement = statement.bind(model.0).bind(account.0);
        leases.iter().map(|lease| &lease.key.position).fold(statement, bind_position)
    }
}

fn bind_position<'q>(statement: Statement<'q>, position: &Position) -> Statement<'q> {
    statement.bind(position.sort_key.as_bytes().to_vec()).bind(position.seq)
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
