//! The scan of the queue: waiting requests of a queue partition in key order.

use overnight_domain::scheduler::{Candidate, Position, QueuePartition};
use overnight_domain::sort_key::SortKey;

use crate::StoreError;
use crate::database::{Row, Statement, statements};

statements! {
    SCAN = "SELECT sort_key, seq, cost, deadline, attempts, suspect FROM queue
        WHERE model = ? AND account = ? AND (sort_key, seq) > (?, ?) AND (sort_key, seq) <= (?, ?)
          AND phase = 0 /* waiting */ AND retry_at <= ?
        ORDER BY sort_key, seq LIMIT ?";
}

pub(crate) const LAST_KEY: &[u8] = &[0xFF; SortKey::MAX_BYTES + 1];

#[derive(Debug, Clone, Copy, Default)]
pub struct KeyRange<'a> {
    /// Exclusive; `None` for the start.
    pub after: Option<&'a Position>,
    /// Inclusive; `None` for the end of the order.
    pub until: Option<&'a Position>,
}

/// In order; only requests that may be tried by `now`.
pub(crate) fn scan_range(partition: QueuePartition, range: KeyRange<'_>, limit: u32, now: i64) -> Statement {
    let place = |it: &Position| (it.sort_key.as_bytes().to_vec(), it.seq);
    let (after_key, after_seq) = range.after.map_or((Vec::new(), i64::MIN), place);
    let (until_key, until_seq) = range.until.map_or((LAST_KEY.to_vec(), i64::MAX), place);
    let scan = SCAN.bind(partition.model).bind(partition.account).bind(after_key).bind(after_seq);
    scan.bind(until_key).bind(until_seq).bind(now).bind(limit)
}

pub(crate) fn read_candidate(row: &Row) -> Result<Candidate, StoreError> {
    Ok(Candidate {
        position: read_position(row)?,
        cost: row.get("cost")?,
        deadline: row.get("deadline")?,
        attempts: row.get("attempts")?,
        suspect: row.get("suspect")?,
    })
}

/// Reads `sort_key, seq`.
pub(crate) fn read_position(row: &Row) -> Result<Position, StoreError> {
    Ok(Position { sort_key: SortKey::from_bytes(row.get("sort_key")?), seq: row.get("seq")? })
}
