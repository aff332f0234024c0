//! The end of gathering: requests enter the queue, in key order.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use overnight_domain::scheduler::{Backlog, QueuePartition};

use crate::database::{Dialect, Row, statements};
use crate::writer::{Job, Operation, WriteClass};
use crate::writes::{WriteOrder, WriteTransaction};
use crate::{Store, StoreError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Released {
    /// Requests that entered the queue, by partition.
    pub added: Vec<Backlog>,
    /// The earliest `ready_at` of gathering requests, in milliseconds; in the past if the limit was reached.
    pub next_ready_at: Option<i64>,
}

/// Moves requests that are ready by `now` into the queue, up to `limit`, longest ready first.
pub fn release(store: &Store, now: i64, limit: u32) -> BoxFuture<'_, Result<Released, StoreError>> {
    store.writer().write(Release { now, limit }).boxed()
}

pub(crate) struct Release {
    now: i64,
    limit: u32,
}

statements! {
    /// The last of the first n ready requests, if there are that many.
    BOUNDARY = { sqlite: "SELECT ready_at, seq FROM request_states WHERE state = 0 /* gathering */ AND ready_at <= ?
        ORDER BY ready_at, seq LIMIT 1 OFFSET ?" };
    COUNT = { sqlite: "SELECT model, account, count(*) AS count FROM request_states
        WHERE state = 0 /* gathering */ AND (ready_at, seq) <= (?, ?) GROUP BY model, account" };
    FILL = { sqlite: "INSERT INTO queue
            (model, account, sort_key, seq, phase, deadline, cost, lease_epoch, attempts, retry_at, suspect, batch, hold, price, lane)
        SELECT model, account, sort_key, seq, 0 /* waiting */, deadline, cost, 0, 0, 0, 0, batch, hold, price, lane FROM request_states
        WHERE state = 0 /* gathering */ AND (ready_at, seq) <= (?, ?) ORDER BY model, account, sort_key, seq" };
    MARK = { sqlite: "UPDATE request_states SET state = 1 /* queued */, released_at = ?
        WHERE state = 0 /* gathering */ AND (ready_at, seq) <= (?, ?)" };
    /// In one statement. Released requests leave the index of `ready_at`, so that later changes touch no index. Rows that another node is
    /// writing are skipped.
    RELEASE_ON_POSTGRES = { postgres: "WITH ready AS (
            SELECT seq FROM request_states WHERE state = 0 /* gathering */ AND ready_at IS NOT NULL AND ready_at <= ?
            ORDER BY ready_at, seq LIMIT ? FOR UPDATE SKIP LOCKED
        ), moved AS (
            UPDATE request_states rs SET state = 1 /* queued */, ready_at = NULL, released_at = ? FROM ready r WHERE rs.seq = r.seq
            RETURNING rs.model, rs.account, rs.sort_key, rs.seq, rs.deadline, rs.cost, rs.batch, rs.hold, rs.price, rs.lane
        ), filled AS (
            INSERT INTO queue
                (model, account, sort_key, seq, phase, deadline, cost, lease_epoch, attempts, retry_at, suspect, batch, hold, price, lane)
            SELECT model, account, sort_key, seq, 0 /* waiting */, deadline, cost, 0, 0, 0, 0, batch, hold, price, lane FROM moved
            ORDER BY model, account, sort_key, seq
            RETURNING model, account
        ) SELECT model, account, count(*) AS count FROM filled GROUP BY model, account" };
    /// Of gathering requests.
    NEXT_READY_AT = {
        sqlite: "SELECT min(ready_at) AS ready_at FROM request_states WHERE state = 0 /* gathering */",
        postgres: "SELECT min(ready_at) AS ready_at FROM request_states WHERE state = 0 /* gathering */ AND ready_at IS NOT NULL",
    };
}

impl Operation for Release {
    type Answer = Released;
    const CLASS: WriteClass = WriteClass::Advance;
    const ORDER: WriteOrder = WriteOrder::Release;

    fn rows(&self) -> usize {
        self.limit as usize
    }

    async fn apply(
        jobs: &[Job<Self>],
        write: &mut WriteTransaction<'_>,
    ) -> Result<Vec<Released>, StoreError> {
        let mut answers = Vec::with_capacity(jobs.len());
        for Job { operation, .. } in jobs {
            let added = match write.tx.dialect() {
                Dialect::Sqlite => operation.move_on_sqlite(write).await?,
                Dialect::Postgres => {
                    let release =
                        RELEASE_ON_POSTGRES.bind(operation.now).bind(operation.limit).bind(operation.now);
                    write.tx.fetch(release).await?
                }
            };
            let added = added.iter().map(read_backlog).collect::<Result<_, _>>()?;
            let next = write.tx.fetch(NEXT_READY_AT.unbound()).await?;
            let next_ready_at = next.first().map(|row| row.get("ready_at")).transpose()?.flatten();
            answers.push(Released { added, next_ready_at });
        }
        Ok(answers)
    }
}

impl Release {
    async fn move_on_sqlite(&self, write: &mut WriteTransaction<'_>) -> Result<Vec<Row>, StoreError> {
        let boundary = BOUNDARY.bind(self.now).bind(self.limit.saturating_sub(1));
        let (ready_at, seq): (i64, i64) = match write.tx.fetch(boundary).await?.first() {
            Some(row) => (row.get("ready_at")?, row.get("seq")?),
            None => (self.now, i64::MAX),
        };
        let added = write.tx.fetch(COUNT.bind(ready_at).bind(seq)).await?;
        if !added.is_empty() {
            write.tx.execute(FILL.bind(ready_at).bind(seq)).await?;
            write.tx.execute(MARK.bind(self.now).bind(ready_at).bind(seq)).await?;
        }
        Ok(added)
    }
}

/// Reads `model, account, count`.
pub(crate) fn read_backlog(row: &Row) -> Result<Backlog, StoreError> {
    Ok(Backlog { partition: read_partition(row)?, count: row.get("count")? })
}

/// Reads `model, account`.
pub(crate) fn read_partition(row: &Row) -> Result<QueuePartition, StoreError> {
    Ok(QueuePartition { model: row.get("model")?, account: row.get("account")? })
}
