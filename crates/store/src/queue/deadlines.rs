//! Deadlines of the requests of a partition.

use overnight_domain::scheduler::{DeadlineStep, QueuePartition};

use crate::database::{Row, statements};
use crate::queue::segments;
use crate::{Store, StoreError};

statements! {
    COUNT_DEADLINES = "SELECT deadline / ? AS step, count(*) AS count, CAST(sum(cost) AS BIGINT) AS cost FROM queue
        WHERE model = ? AND account = ? AND phase = 0 /* waiting */ AND retry_at <= ? AND deadline > ?
        GROUP BY 1 ORDER BY 1";
}

/// Counts waiting requests that may be tried by `now`, by deadline after `now` in steps of `step_ms`; also the number of segments in which
/// nodes sweep the partition, 0 if it is not shared. Reads the whole partition.
pub async fn count(
    store: &Store,
    partition: QueuePartition,
    step_ms: i64,
    now: i64,
) -> Result<(Vec<DeadlineStep>, usize), StoreError> {
    let count = COUNT_DEADLINES.bind(step_ms).bind(partition.model).bind(partition.account);
    let count = count.bind(now).bind(now);
    let rows = store.readers().fetch_all(count).await?;
    let steps = rows.iter().map(|row| read_step(row, step_ms)).collect::<Result<_, _>>()?;
    let segments = if store.is_shared() { segments::count(store, partition, now).await? } else { 0 };
    Ok((steps, segments))
}

fn read_step(row: &Row, step_ms: i64) -> Result<DeadlineStep, StoreError> {
    let step: i64 = row.get("step")?;
    Ok(DeadlineStep { from: step.saturating_mul(step_ms), count: row.get("count")?, cost: row.get("cost")? })
}
