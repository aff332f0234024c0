//! Deadlines of the requests of a partition.

use std::collections::BTreeMap;

use overnight_domain::scheduler::{DeadlineStep, QueuePartition};

use crate::database::statements;
use crate::queue::counts::Parts;
use crate::queue::segments;
use crate::{Store, StoreError};

statements! {
    COUNT_DEADLINES = "SELECT deadline / ? AS step, count(*) AS count, CAST(sum(cost) AS BIGINT) AS cost FROM queue
        WHERE phase = 0 /* waiting */ AND retry_at <= ? AND deadline > ?
          AND model = ? AND (account, sort_key, seq) > (?, ?, ?) AND (account, sort_key, seq) <= (?, ?, ?)
        GROUP BY 1";
}

/// Counts waiting requests that may be tried by `now`, by deadline after `now` in steps of `step_ms`; also the number of segments in which
/// nodes sweep the partition, 0 if it is not shared.
pub async fn count(
    store: &Store,
    partition: QueuePartition,
    step_ms: i64,
    now: i64,
) -> Result<(Vec<DeadlineStep>, usize), StoreError> {
    let (mut parts, mut steps) = (Parts::of(store, partition), BTreeMap::new());
    while let Some(rows) = parts.next(COUNT_DEADLINES.bind(step_ms).bind(now).bind(now)).await? {
        for row in &rows {
            let step = row.get::<i64>("step")?;
            let from = step.saturating_mul(step_ms);
            let sum = steps.entry(step).or_insert(DeadlineStep { from, count: 0, cost: 0 });
            sum.count += row.get::<i64>("count")?;
            sum.cost += row.get::<i64>("cost")?;
        }
    }
    let steps = steps.into_values().collect();
    let segments = if store.is_shared() { segments::count(store, partition, now).await? } else { 0 };
    Ok((steps, segments))
}
