//! The place of a request in the order of its queue partition.

use overnight_domain::scheduler::{Position, QueuePartition};

use crate::database::{Row, statements};
use crate::queue::counts::Parts;
use crate::queue::queue_scan::read_position;
use crate::{Store, StoreError};

/// With the lengths of prompt prefixes shared with its neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueuePlace {
    pub is_suspect: bool,
    /// Attempts that count.
    pub failed_attempts: i64,
    /// Waiting requests of its partition, without itself.
    pub waiting: i64,
    /// Those before it in the order.
    pub waiting_before: i64,
    /// Those between it and the nearest leased request before it, which shows the sweep's position; `None` if none is leased before it.
    pub waiting_since_leased: Option<i64>,
    pub cuts: usize,
    /// Shared with the request before it.
    pub shared_with_previous: usize,
    /// Shared with the request after it.
    pub shared_with_next: usize,
}

statements! {
    ROW = "SELECT attempts, suspect FROM queue WHERE model = ? AND account = ? AND sort_key = ? AND seq = ?";
    COUNT = "SELECT count(*) AS waiting,
            coalesce(sum(CASE WHEN (sort_key, seq) < (?, ?) THEN 1 ELSE 0 END), 0) AS waiting_before
        FROM queue WHERE NOT (sort_key = ? AND seq = ?) AND phase = 0 /* waiting */
          AND model = ? AND (account, sort_key, seq) > (?, ?, ?) AND (account, sort_key, seq) <= (?, ?, ?)";
    PREVIOUS = "SELECT sort_key, seq FROM queue WHERE model = ? AND account = ? AND (sort_key, seq) < (?, ?)
        ORDER BY sort_key DESC, seq DESC LIMIT 1";
    NEXT = "SELECT sort_key, seq FROM queue WHERE model = ? AND account = ? AND (sort_key, seq) > (?, ?)
        ORDER BY sort_key, seq LIMIT 1";
    LEASED_BEFORE = "SELECT sort_key, seq FROM queue
        WHERE model = ? AND account = ? AND (sort_key, seq) < (?, ?) AND phase <> 0 /* leased */
        ORDER BY sort_key DESC, seq DESC LIMIT 1";
    COUNT_BETWEEN = "SELECT count(*) AS waiting FROM queue
        WHERE model = ? AND account = ? AND (sort_key, seq) > (?, ?) AND (sort_key, seq) < (?, ?)
          AND phase = 0 /* waiting */";
}

/// `None` if it is not in the queue. Reads the whole partition.
pub async fn find(
    store: &Store,
    partition: QueuePartition,
    position: &Position,
) -> Result<Option<QueuePlace>, StoreError> {
    let QueuePartition { model, account } = partition;
    let readers = store.long_readers(account);
    let key = || position.sort_key.as_bytes().to_vec();
    let row = ROW.bind(model).bind(account).bind(key()).bind(position.seq);
    let Some(row) = readers.fetch_optional(row).await? else { return Ok(None) };
    let (mut waiting, mut waiting_before) = (0, 0);
    let mut parts = Parts::for_account(store, partition);
    while let Some(rows) =
        parts.next(COUNT.bind(key()).bind(position.seq).bind(key()).bind(position.seq)).await?
    {
        for row in &rows {
            waiting += row.get::<i64>("waiting")?;
            waiting_before += row.get::<i64>("waiting_before")?;
        }
    }
    let previous = PREVIOUS.bind(model).bind(account).bind(key()).bind(position.seq);
    let previous = readers.fetch_optional(previous).await?;
    let next = NEXT.bind(model).bind(account).bind(key()).bind(position.seq);
    let next = readers.fetch_optional(next).await?;
    let leased = LEASED_BEFORE.bind(model).bind(account).bind(key()).bind(position.seq);
    let waiting_since_leased = match readers.fetch_optional(leased).await? {
        Some(leased) => {
            let leased = read_position(&leased)?;
            let between = COUNT_BETWEEN.bind(model).bind(account);
            let between = between.bind(leased.sort_key.as_bytes().to_vec()).bind(leased.seq);
            Some(readers.fetch_one(between.bind(key()).bind(position.seq)).await?.get("waiting")?)
        }
        None => None,
    };
    let shared = |row: Option<Row>| match row {
        Some(row) => Ok(position.sort_key.shared_cuts(&read_position(&row)?.sort_key)),
        None => Ok::<_, StoreError>(0),
    };
    Ok(Some(QueuePlace {
        is_suspect: row.get("suspect")?,
        failed_attempts: row.get("attempts")?,
        waiting,
        waiting_before,
        waiting_since_leased,
        cuts: position.sort_key.cuts().count(),
        shared_with_previous: shared(previous)?,
        shared_with_next: shared(next)?,
    }))
}
