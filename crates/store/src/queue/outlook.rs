//! The queue for forecasts: marks in the order of a partition.

use overnight_domain::forecast::Mark;
use overnight_domain::scheduler::{Position, QueuePartition, SweptSegment};

use crate::database::statements;
use crate::queue::counts::PART_ROWS;
use crate::queue::queue_scan::read_position;
use crate::queue::segments;
use crate::{Store, StoreError};

/// Marks per partition, about.
const MARKS_MAX: i64 = 1_024;
statements! {
    /// Every nth of the next rows, and the cost of all up to it.
    MARKS = "SELECT sort_key, seq, cost FROM (
            SELECT sort_key, seq, row_number() OVER (ORDER BY sort_key, seq ROWS UNBOUNDED PRECEDING) AS place,
                CAST(sum(cost) OVER (ORDER BY sort_key, seq ROWS UNBOUNDED PRECEDING) AS BIGINT) AS cost
            FROM (SELECT sort_key, seq, cost FROM queue
                WHERE model = ? AND account = ? AND (sort_key, seq) > (?, ?) AND phase = 0 /* waiting */
                ORDER BY sort_key, seq LIMIT ?) next_rows) placed
        WHERE place % ? = 0 ORDER BY sort_key, seq";
}

/// Marks in the order of a partition with about `waiting` requests, with estimated costs, and its segments if nodes share the queue. Reads
/// the whole partition, in parts.
pub async fn marks(
    store: &Store,
    partition: QueuePartition,
    waiting: i64,
) -> Result<(Vec<Mark>, Vec<SweptSegment>), StoreError> {
    let marks = read_marks(store, partition, (waiting / MARKS_MAX).max(1), PART_ROWS).await?;
    let is_shared = store.is_shared();
    let segments = if is_shared { segments::swept(store, partition).await? } else { Vec::new() };
    Ok((marks, segments))
}

/// Marks of `step` rows each, or of more if there would be too many; `rows_at_once` per read.
pub(crate) async fn read_marks(
    store: &Store,
    partition: QueuePartition,
    mut step: i64,
    rows_at_once: i64,
) -> Result<Vec<Mark>, StoreError> {
    let mut marks: Vec<Mark> = Vec::new();
    loop {
        let marks_at_once = (rows_at_once / step).max(1);
        let after = marks.last().map(|mark| &mark.last);
        let (key, seq) = after.map_or((Vec::new(), i64::MIN), |it| (it.sort_key.as_bytes().to_vec(), it.seq));
        let query = MARKS.bind(partition.model).bind(partition.account).bind(key).bind(seq);
        let rows = store
            .long_readers(partition.account)
            .fetch_all(query.bind(marks_at_once * step).bind(step))
            .await?;
        let mut before = 0;
        for row in &rows {
            let (last, sum): (Position, i64) = (read_position(row)?, row.get("cost")?);
            marks.push(Mark { last, cost: (sum - before) as f64 });
            before = sum;
        }
        if (rows.len() as i64) < marks_at_once {
            return Ok(marks);
        }
        while marks.len() as i64 > 2 * MARKS_MAX {
            marks = merged(&marks);
            step *= 2;
        }
    }
}

/// Half as many marks, each of two.
fn merged(marks: &[Mark]) -> Vec<Mark> {
    let merge = |pair: &[Mark]| {
        Some(Mark { last: pair.last()?.last.clone(), cost: pair.iter().map(|mark| mark.cost).sum() })
    };
    marks.chunks(2).filter_map(merge).collect()
}
