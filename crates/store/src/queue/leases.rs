//! Taking requests from the queue for an engine, and returning them. Leases are at-least-once by design: one ends with a settle, a return,
//! a cancel, or the death of its process, and every lease raises the row's epoch.

use std::collections::{HashMap, HashSet};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use overnight_domain::records::FailedAttempt;
use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::{Lease, Position, QueueKey, QueuePartition};

use crate::database::{Dialect, Row, Value, statements};
use crate::queue::attempts;
use crate::writer::{Job, Operation, WriteClass};
use crate::writes::{WriteOrder, WriteTransaction};
use crate::{Store, StoreError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leased {
    /// In the order asked for.
    pub leases: Vec<Lease>,
    /// Requests that left the queue or may not be leased, by `seq`.
    pub gone: Vec<i64>,
}

/// Leases requests that still wait and belong to no cancelled batch.
pub fn take(
    store: &Store,
    partition: QueuePartition,
    positions: Vec<Position>,
    now: i64,
) -> BoxFuture<'_, Result<Leased, StoreError>> {
    store.writer().write(LeaseRun { partition, positions, now }).boxed()
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleaseLease {
    pub lease: Lease,
    /// In milliseconds.
    pub retry_at: i64,
    /// If one counts against the request.
    pub attempt: Option<FailedAttempt>,
    pub suspect: bool,
}

/// Returns a leased request to the queue; `false` if the lease was no longer held.
pub async fn release_lease(store: &Store, release: ReleaseLease) -> Result<bool, StoreError> {
    store.writer().write(release).await
}

statements! {
    /// The positions that wait. A batch marked as cancelled withholds its requests: they end with its next chunk.
    WAITING over [Bytes, Integer] = {
        sqlite: "SELECT q.seq, q.lease_epoch, q.in_progress_at, q.batch
            FROM queue q LEFT JOIN batches b ON b.seq = q.batch
            WHERE q.model = ?3 AND q.account = ?4 AND q.sort_key = ?5 AND q.seq = ?6
              AND q.phase = 0 /* waiting */ AND b.cancelled_at IS NULL",
    };
    /// Leases requests. One that was in progress before keeps its start.
    ///
    /// On PostgreSQL it also searches. Rows that another node is writing are skipped. A removed node leases no request before its next
    /// heartbeat: no peer would reclaim it. Each row is locked in a search of its own: a join would read the whole partition for two
    /// columns.
    LEASE over [Bytes, Integer] = {
        sqlite: "UPDATE queue SET phase = 1 /* leased */, node = ?1, lease_epoch = lease_epoch + 1,
                   in_progress_at = coalesce(in_progress_at, ?2)
            WHERE model = ?3 AND account = ?4 AND sort_key = ?5 AND seq = ?6",
        postgres: "WITH k(node, now, model, account) AS (
                SELECT n.seq, $2::bigint, $3::bigint, $4::bigint FROM nodes n WHERE n.seq = $1 FOR KEY SHARE
            ), v(sort_key, seq) AS (
                SELECT * FROM unnest($5::bytea[], $6::bigint[])
            ), w AS (
                SELECT q.* FROM k CROSS JOIN v CROSS JOIN LATERAL (
                    SELECT q.model, q.account, q.sort_key, q.seq, q.in_progress_at FROM queue q
                    WHERE q.model = k.model AND q.account = k.account AND q.sort_key = v.sort_key AND q.seq = v.seq
                      AND q.phase = 0 /* waiting */
                      AND NOT EXISTS (SELECT 1 FROM batches b WHERE b.seq = q.batch AND b.cancelled_at IS NOT NULL)
                    FOR UPDATE OF q SKIP LOCKED) q
            ) UPDATE queue q SET phase = 1 /* leased */, node = k.node, lease_epoch = q.lease_epoch + 1,
                     in_progress_at = coalesce(q.in_progress_at, k.now)
              FROM w, k WHERE q.model = w.model AND q.account = w.account AND q.sort_key = w.sort_key AND q.seq = w.seq
              RETURNING q.seq, q.lease_epoch, w.in_progress_at, q.batch",
    };
    RETURN = "UPDATE queue SET phase = 0 /* waiting */, node = NULL, retry_at = ?, attempts = attempts + ?, suspect = ?
        WHERE phase = 1 /* leased */ AND node = ?
          AND model = ? AND account = ? AND sort_key = ? AND seq = ? AND lease_epoch = ?";
    /// Leases that are no longer held.
    LIST_LOST over [Integer, Integer, Bytes, Integer, Integer] = {
        sqlite: "SELECT ?4 AS seq WHERE NOT EXISTS (
                SELECT 1 FROM queue q WHERE q.model = ?1 AND q.account = ?2 AND q.sort_key = ?3
                  AND q.seq = ?4 AND q.phase = 1 /* leased */ AND q.lease_epoch = ?5)",
        postgres: "SELECT v.seq FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bigint[], $5::bigint[])
                AS v(model, account, sort_key, seq, lease_epoch)
            WHERE NOT EXISTS (
                SELECT 1 FROM queue q WHERE q.model = v.model AND q.account = v.account AND q.sort_key = v.sort_key
                  AND q.seq = v.seq AND q.phase = 1 /* leased */ AND q.lease_epoch = v.lease_epoch)",
    };
}

pub(crate) struct LeaseRun {
    partition: QueuePartition,
    positions: Vec<Position>,
    now: i64,
}

impl LeaseRun {
    async fn take(&self, write: &mut WriteTransaction<'_>) -> Result<Leased, StoreError> {
        let mut epochs = match write.tx.dialect() {
            Dialect::Sqlite => self.take_on_sqlite(write).await?,
            Dialect::Postgres => self.take_on_postgres(write).await?,
        };
        let mut leased = Leased { leases: Vec::with_capacity(epochs.len()), gone: Vec::new() };
        for position in &self.positions {
            match epochs.remove(&position.seq) {
                Some(epoch) => {
                    let key = QueueKey { partition: self.partition, position: position.clone() };
                    leased.leases.push(Lease { key, epoch });
                }
                None => leased.gone.push(position.seq),
            }
        }
        Ok(leased)
    }

    /// Epochs of leased requests, by `seq`.
    async fn take_on_sqlite(
        &self,
        write: &mut WriteTransaction<'_>,
    ) -> Result<HashMap<i64, i64>, StoreError> {
        let mut epochs = HashMap::with_capacity(self.positions.len());
        for row in write.tx.fetch(WAITING.over(self.shared(write), list(&self.positions))).await? {
            self.shift(write, &row)?;
            epochs.insert(row.get("seq")?, row.get::<i64>("lease_epoch")? + 1);
        }
        let waiting = self.positions.iter().filter(|position| epochs.contains_key(&position.seq));
        write.tx.execute(LEASE.over(self.shared(write), list(waiting))).await?;
        Ok(epochs)
    }

    async fn take_on_postgres(
        &self,
        write: &mut WriteTransaction<'_>,
    ) -> Result<HashMap<i64, i64>, StoreError> {
        let mut epochs = HashMap::with_capacity(self.positions.len());
        for row in write.tx.fetch(LEASE.over(self.shared(write), list(&self.positions))).await? {
            self.shift(write, &row)?;
            epochs.insert(row.get("seq")?, row.get("lease_epoch")?);
        }
        Ok(epochs)
    }

    fn shared(&self, write: &WriteTransaction<'_>) -> [Value; 4] {
        let QueuePartition { model, account } = self.partition;
        [write.node.key.into(), self.now.into(), model.into(), account.into()]
    }

    /// Counts a request that was not in progress before.
    fn shift(&self, write: &mut WriteTransaction<'_>, leased: &Row) -> Result<(), StoreError> {
        if leased.get::<Option<i64>>("in_progress_at")?.is_none() {
            let batch = leased.get("batch")?;
            write.effects.moved(batch, RequestStatus::Registered, RequestStatus::InProgress, self.now);
        }
        Ok(())
    }
}

pub(crate) fn list<'a>(positions: impl IntoIterator<Item = &'a Position>) -> Vec<Value> {
    let values = |position: &Position| [position.sort_key.as_bytes().into(), position.seq.into()];
    positions.into_iter().flat_map(values).collect()
}

impl Operation for LeaseRun {
    type Answer = Leased;
    const CLASS: WriteClass = WriteClass::Advance;
    const ORDER: WriteOrder = WriteOrder::LeaseRun;

    fn rows(&self) -> usize {
        self.positions.len()
    }

    async fn apply(jobs: &[Job<Self>], write: &mut WriteTransaction<'_>) -> Result<Vec<Leased>, StoreError> {
        let mut answers = Vec::with_capacity(jobs.len());
        for job in jobs {
            answers.push(job.operation.take(write).await?);
        }
        Ok(answers)
    }
}

/// Adds `model, account, sort_key, seq`: the key of the queue.
pub(crate) fn push_key(values: &mut Vec<Value>, key: &QueueKey) {
    let QueueKey { partition, position } = key;
    values.push(partition.model.into());
    values.push(partition.account.into());
    values.push(position.sort_key.as_bytes().into());
    values.push(position.seq.into());
}

impl Operation for ReleaseLease {
    type Answer = bool;
    const CLASS: WriteClass = WriteClass::Control;
    const ORDER: WriteOrder = WriteOrder::ReleaseLease;

    async fn apply(jobs: &[Job<Self>], write: &mut WriteTransaction<'_>) -> Result<Vec<bool>, StoreError> {
        let mut answers = Vec::with_capacity(jobs.len());
        for Job { operation: release, .. } in jobs {
            let QueueKey { partition, position } = &release.lease.key;
            let update = RETURN
                .bind(release.retry_at)
                .bind(release.attempt.is_some())
                .bind(release.suspect)
                .bind(write.node.key)
                .bind(partition.model)
                .bind(partition.account)
                .bind(position.sort_key.as_bytes())
                .bind(position.seq)
                .bind(release.lease.epoch);
            let is_held = write.tx.execute(update).await? == 1;
            if let Some(attempt) = release.attempt.as_ref().filter(|_| is_held) {
                attempts::record(write, &release.lease.key, attempt).await?;
            }
            answers.push(is_held);
        }
        Ok(answers)
    }
}

/// Leases no longer held: other nodes ended their requests, or took this process for dead.
pub async fn list_lost(store: &Store, leases: &[Lease]) -> Result<Vec<Lease>, StoreError> {
    let mut values = Vec::with_capacity(5 * leases.len());
    for lease in leases {
        push_key(&mut values, &lease.key);
        values.push(lease.epoch.into());
    }
    let rows = store.readers().fetch_all(LIST_LOST.over([], values)).await?;
    let seqs: HashSet<i64> = rows.iter().map(|row| row.get("seq")).collect::<Result<_, _>>()?;
    Ok(leases.iter().filter(|lease| seqs.contains(&lease.key.position.seq)).cloned().collect())
}
