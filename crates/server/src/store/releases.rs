//! The end of gathering: requests enter the queue, in key order.

use overnight_domain::scheduler::{AccountKey, Backlog, Group, ModelKey};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

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
     (model, account, sort_key, seq, phase, deadline, cost, lease_epoch, attempts, retry_at, suspect)
     SELECT model, account, sort_key, seq, 0, deadline, cost, 0, 0, 0, 0 FROM progress
     WHERE state = 0 AND (ready_at, seq) <= (?, ?) ORDER BY model, account, sort_key, seq";
pub(super) const MARK: &str = "UPDATE progress SET state = 1 WHERE state = 0 AND (ready_at, seq) <= (?, ?)";
pub(super) const NEXT: &str = "SELECT min(ready_at) FROM progress WHERE state = 0";

impl Operation for Release {
    type Answer = Released;
    const LANE: Lane = Lane::Control;

    fn rows(&self) -> usize {
        self.limit as usize
    }

    async fn apply(jobs: &[Job<Self>], unit: &mut Unit<'_>) -> Result<Vec<Released>, StoreError> {
        let mut answers = Vec::with_capacity(jobs.len());
        for Job { operation: Self { now, limit }, .. } in jobs {
            let found = unit.tx.fetch(sqlx::query(BOUNDARY).bind(now).bind(limit.saturating_sub(1))).await?;
            let (ready_at, seq) = match found.first() {
                Some(row) => (row.try_get(0)?, row.try_get(1)?),
                None => (*now, i64::MAX),
            };
            let added = unit.tx.fetch(sqlx::query(COUNT).bind(ready_at).bind(seq)).await?;
            let added: Vec<Backlog> = added.iter().map(read_backlog).collect::<Result<_, _>>()?;
            if !added.is_empty() {
                unit.tx.execute(sqlx::query(FILL).bind(ready_at).bind(seq)).await?;
                unit.tx.execute(sqlx::query(MARK).bind(ready_at).bind(seq)).await?;
            }
            let next = unit.tx.fetch(sqlx::query(NEXT)).await?;
            let next_ready_at = next.first().map(|row| row.try_get(0)).transpose()?.flatten();
            answers.push(Released { added, next_ready_at });
        }
        Ok(answers)
    }
}

/// Reads `model, account, count, cost`.
pub(super) fn read_backlog(row: &SqliteRow) -> Result<Backlog, StoreError> {
    let group = Group { model: ModelKey(row.try_get(0)?), account: AccountKey(row.try_get(1)?) };
    Ok(Backlog { group, count: row.try_get(2)?, cost: row.try_get(3)? })
}
