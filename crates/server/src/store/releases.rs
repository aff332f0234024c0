//! The end of gathering: requests enter the queue, in key order.

use overnight_domain::scheduler::{AccountKey, Backlog, ModelKey, QueuePartition};

use super::database::{Dialect, Row, Statement, sql, sql_each};
use super::writer::{Job, Lane, Operation, Unit};
use super::{Store, StoreError};

/// What a release moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Released {
    /// What entered the queue, by group.
    pub added: Vec<Backlog>,
    /// The earliest `ready_at` still gathering, in milliseconds; it lies in the past where the limit was reached.
    pub next_ready_at: Option<i64>,
}

/// Moves what is ready by `now` into the queue, `limit` requests at most, the longest ready first.
pub async fn release(store: &Store, now: i64, limit: u32) -> Result<Released, StoreError> {
    store.writer().write(Release { now, limit }).await
}

pub(super) struct Release {
    now: i64,
    limit: u32,
}

/// The last of the first `limit` ready requests, where there are that many.
pub(super) const BOUNDARY: &str = "SELECT ready_at, seq FROM progress WHERE state = 0 AND ready_at <= ?
     ORDER BY ready_at, seq LIMIT 1 OFFSET ? + 0";
pub(super) const COUNT: &str = "SELECT model, account, count(*), sum(cost) FROM progress
     WHERE state = 0 AND (ready_at, seq) <= (?, ?) GROUP BY model, account";
pub(super) const FILL: &str = "INSERT INTO queue
     (model, account, sort_key, seq, phase, deadline, cost, lease_epoch, attempts, retry_at, suspect, batch, hold, price, lane)
     SELECT model, account, sort_key, seq, 0, deadline, cost, 0, 0, 0, 0, batch, hold, price, lane FROM progress
     WHERE state = 0 AND (ready_at, seq) <= (?, ?) ORDER BY model, account, sort_key, seq";
pub(super) const MARK: &str = "UPDATE progress SET state = 1 WHERE state = 0 AND (ready_at, seq) <= (?, ?)";

/// All of it at once. What gathers no more leaves the index of `ready_at`, so that its later changes touch no index. What
/// another node is writing at this moment is passed over.
const RELEASE_ON_POSTGRES: &str = "WITH ready AS (
         SELECT seq FROM progress WHERE state = 0 AND ready_at IS NOT NULL AND ready_at <= ?
         ORDER BY ready_at, seq LIMIT ? + 0 FOR UPDATE SKIP LOCKED
     ), moved AS (
         UPDATE progress p SET state = 1, ready_at = NULL FROM ready r WHERE p.seq = r.seq
         RETURNING p.model, p.account, p.sort_key, p.seq, p.deadline, p.cost, p.batch, p.hold, p.price, p.lane
     ), filled AS (
         INSERT INTO queue
         (model, account, sort_key, seq, phase, deadline, cost, lease_epoch, attempts, retry_at, suspect, batch, hold, price, lane)
         SELECT model, account, sort_key, seq, 0, deadline, cost, 0, 0, 0, 0, batch, hold, price, lane FROM moved
         ORDER BY model, account, sort_key, seq
         RETURNING model, account, cost
     ) SELECT model, account, count(*), sum(cost)::bigint FROM filled GROUP BY model, account";

pub(super) fn release_on_postgres(now: i64, limit: u32) -> Statement {
    sql(RELEASE_ON_POSTGRES).bind(now).bind(limit)
}

/// The earliest `ready_at` of what gathers.
pub(super) fn next() -> Statement {
    sql_each(
        "SELECT min(ready_at) FROM progress WHERE state = 0",
        "SELECT min(ready_at) FROM progress WHERE state = 0 AND ready_at IS NOT NULL",
    )
}

impl Operation for Release {
    type Answer = Released;
    const LANE: Lane = Lane::Control;

    fn rows(&self) -> usize {
        self.limit as usize
    }

    async fn apply(jobs: &[Job<Self>], unit: &mut Unit<'_>) -> Result<Vec<Released>, StoreError> {
        let mut answers = Vec::with_capacity(jobs.len());
        for Job { operation, .. } in jobs {
            let added = match unit.tx.dialect() {
                Dialect::Sqlite => operation.move_on_sqlite(unit).await?,
                Dialect::Postgres => {
                    unit.tx.fetch(release_on_postgres(operation.now, operation.limit)).await?
                }
            };
            let added = added.iter().map(read_backlog).collect::<Result<_, _>>()?;
            let next_ready_at =
                unit.tx.fetch(next()).await?.first().map(|row| row.get(0)).transpose()?.flatten();
            answers.push(Released { added, next_ready_at });
        }
        Ok(answers)
    }
}

impl Release {
    async fn move_on_sqlite(&self, unit: &mut Unit<'_>) -> Result<Vec<Row>, StoreError> {
        let boundary = sql(BOUNDARY).bind(self.now).bind(self.limit.saturating_sub(1));
        let (ready_at, seq): (i64, i64) = match unit.tx.fetch(boundary).await?.first() {
            Some(row) => (row.get(0)?, row.get(1)?),
            None => (self.now, i64::MAX),
        };
        let added = unit.tx.fetch(sql(COUNT).bind(ready_at).bind(seq)).await?;
        if !added.is_empty() {
            unit.tx.execute(sql(FILL).bind(ready_at).bind(seq)).await?;
            unit.tx.execute(sql(MARK).bind(ready_at).bind(seq)).await?;
        }
        Ok(added)
    }
}

/// Reads `model, account, count, cost`.
pub(super) fn read_backlog(row: &Row) -> Result<Backlog, StoreError> {
    let group = QueuePartition { model: ModelKey(row.get(0)?), account: AccountKey(row.get(1)?) };
    Ok(Backlog { group, count: row.get(2)?, cost: row.get(3)? })
}
