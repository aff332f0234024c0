//! Some of a batch's requests, as forecasts need them.

use overnight_domain::scheduler::{AccountKey, ModelKey, Position};

use crate::store::database::{Row, statements};
use crate::store::queue::queue_scan::read_position;
use crate::store::{Store, StoreError};

/// No more than about so many are taken.
const SAMPLE_MAX: i64 = 32;

/// A request of a batch that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sampled {
    /// Its model.
    pub model: ModelKey,
    /// Its place in the order of its partition.
    pub position: Position,
    /// Whether it is with an engine, or about to be.
    pub is_leased: bool,
}

statements! {
    /// Every so many-th in order of arrival, and the first.
    SAMPLE_LIVE = "SELECT rs.model, rs.sort_key, rs.seq, coalesce(q.phase, 0) <> 0 AS is_leased
        FROM request_states rs LEFT JOIN queue q
          ON q.model = rs.model AND q.account = rs.account AND q.sort_key = rs.sort_key AND q.seq = rs.seq
        WHERE rs.seq IN (
            SELECT seq FROM (
                SELECT seq, row_number() OVER (ORDER BY seq) AS place, count(*) OVER () AS count FROM request_states
                WHERE batch = ? AND batch IS NOT NULL AND state < 3 /* live */) m
            WHERE place = 1 OR place % (count / ? + 1) = 0)
        ORDER BY rs.seq";
}

/// Requests of a batch that have not ended, spread over it. Goes through all of its requests.
///
/// # Errors
///
/// Only what the store could not do.
pub async fn sample_live(store: &Store, account: AccountKey, batch: i64) -> Result<Vec<Sampled>, StoreError> {
    let rows = store.long_readers(account).fetch_all(SAMPLE_LIVE.bind(batch).bind(SAMPLE_MAX)).await?;
    rows.iter().map(read).collect()
}

fn read(row: &Row) -> Result<Sampled, StoreError> {
    let is_leased = row.get("is_leased")?;
    Ok(Sampled { model: row.get("model")?, position: read_position(row)?, is_leased })
}
