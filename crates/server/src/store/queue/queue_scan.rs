//! The scan of the queue: waiting requests of a queue partition in key order.

use overnight_domain::scheduler::{Candidate, Position, QueuePartition};
use overnight_domain::sort_key::SortKey;

use crate::store::StoreError;
use crate::store::database::{Row, Statement, statements};

statements! {
    SCAN = "SELECT sort_key, seq, cost, deadline, attempts, suspect FROM queue
        WHERE model = ? AND account = ? AND (sort_key, seq) > (?, ?) AND phase = 0 /* waiting */ AND retry_at <= ?
        ORDER BY sort_key, seq LIMIT ?";
}

/// Requests of a queue partition after a position that may be tried by `now`, in order.
pub(in crate::store) fn scan_after(
    partition: QueuePartition,
    after: Option<&Position>,
    limit: u32,
    now: i64,
) -> Statement {
    let (sort_key, seq) = match after {
        Some(position) => (position.sort_key.as_bytes(), position.seq),
        None => ([].as_slice(), i64::MIN),
    };
    SCAN.bind(partition.model).bind(partition.account).bind(sort_key).bind(seq).bind(now).bind(limit)
}

pub(in crate::store) fn read_candidate(row: &Row) -> Result<Candidate, StoreError> {
    Ok(Candidate {
        position: read_position(row)?,
        cost: row.get("cost")?,
        deadline: row.get("deadline")?,
        attempts: row.get("attempts")?,
        suspect: row.get("suspect")?,
    })
}

/// Reads `sort_key, seq`.
pub(in crate::store) fn read_position(row: &Row) -> Result<Position, StoreError> {
    Ok(Position { sort_key: SortKey::from_bytes(row.get("sort_key")?), seq: row.get("seq")? })
}
