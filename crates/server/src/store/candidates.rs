//! Waiting requests as a look sees them.

use overnight_domain::scheduler::{Candidate, Position, QueuePartition};
use overnight_domain::sort_key::SortKey;

use super::StoreError;
use super::database::{Row, Statement, sql};

pub(super) const LOOK: &str = "SELECT sort_key, seq, cost, deadline, attempts, suspect FROM queue
     WHERE model = ? AND account = ? AND (sort_key, seq) > (?, ?) AND phase = 0 AND retry_at <= ?
     ORDER BY sort_key, seq LIMIT ? + 0";

/// Those of a group behind a place that may be tried by `now`, in order.
pub(super) fn look_behind(
    group: QueuePartition,
    after: Option<&Position>,
    limit: u32,
    now: i64,
) -> Statement {
    let (sort_key, seq) = match after {
        Some(position) => (position.sort_key.as_bytes(), position.seq),
        None => ([].as_slice(), i64::MIN),
    };
    sql(LOOK).bind(group.model.0).bind(group.account.0).bind(sort_key).bind(seq).bind(now).bind(limit)
}

pub(super) fn read_candidate(row: &Row) -> Result<Candidate, StoreError> {
    let position = Position { sort_key: SortKey::from_bytes(row.get(0)?), seq: row.get(1)? };
    Ok(Candidate {
        position,
        cost: row.get(2)?,
        deadline: row.get(3)?,
        attempts: u32::try_from(row.get::<i64>(4)?)
            .map_err(|_| StoreError::Damaged("a count of attempts"))?,
        suspect: row.flag(5)?,
    })
}
