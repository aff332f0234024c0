//! Places of live requests in the order, for forecasts.

use overnight_domain::ids::RequestId;
use overnight_domain::scheduler::{AccountKey, ModelKey, Position};

use crate::database::{Row, Value, statements};
use crate::queue::queue_scan::read_position;
use crate::{Store, StoreError};

/// Requests sampled per batch, about.
const SAMPLE_MAX: i64 = 32;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveRequest {
    pub model: ModelKey,
    /// In the order of its partition.
    pub position: Position,
    /// In milliseconds.
    pub deadline: i64,
    /// At an engine, or about to be.
    pub is_leased: bool,
    /// In milliseconds; 0 for now.
    pub retry_at: i64,
}

statements! {
    FIND_LIVE = "SELECT rs.model, rs.sort_key, rs.seq, rs.deadline, coalesce(q.phase, 0) <> 0 AS is_leased, coalesce(q.retry_at, 0) AS retry_at
        FROM requests r JOIN request_states rs ON rs.seq = r.seq LEFT JOIN queue q
          ON q.model = rs.model AND q.account = rs.account AND q.sort_key = rs.sort_key AND q.seq = rs.seq
        WHERE r.id = ? AND r.account = ? AND rs.state < 3 /* live */";
    LIST_LIVE over [Bytes] = {
        sqlite: "SELECT r.id FROM requests r JOIN request_states rs ON rs.seq = r.seq WHERE r.id = ?1 AND rs.state < 3 /* live */",
        postgres: "SELECT r.id FROM pg_catalog.unnest($1::bytea[]) AS v(id) JOIN requests r ON r.id = v.id JOIN request_states rs ON rs.seq = r.seq
            WHERE rs.state < 3 /* live */",
    };
    /// Every nth in order of arrival, and the first.
    SAMPLE_LIVE = "SELECT rs.model, rs.sort_key, rs.seq, rs.deadline, coalesce(q.phase, 0) <> 0 AS is_leased, coalesce(q.retry_at, 0) AS retry_at
        FROM request_states rs LEFT JOIN queue q
          ON q.model = rs.model AND q.account = rs.account AND q.sort_key = rs.sort_key AND q.seq = rs.seq
        WHERE rs.seq IN (
            SELECT seq FROM (
                SELECT seq, row_number() OVER (ORDER BY seq) AS place, count(*) OVER () AS count FROM request_states
                WHERE batch = ? AND batch IS NOT NULL AND state < 3 /* live */) m
            WHERE place = 1 OR place % (count / ? + 1) = 0)
        ORDER BY rs.seq";
}

/// `None` if it has ended.
pub async fn find_live(
    store: &Store,
    account: AccountKey,
    id: RequestId,
) -> Result<Option<LiveRequest>, StoreError> {
    let row = store.readers().fetch_optional(FIND_LIVE.bind(id).bind(account)).await?;
    row.as_ref().map(read).transpose()
}

/// In no order.
pub async fn list_live(store: &Store, ids: &[RequestId]) -> Result<Vec<RequestId>, StoreError> {
    let ids = ids.iter().map(|id| Value::from(*id)).collect();
    let rows = store.readers().fetch_all(LIST_LIVE.over([], ids)).await?;
    rows.iter().map(|row| row.get("id")).collect()
}

/// Live requests of a batch, spread over it. Reads all of its requests.
pub async fn sample_live(
    store: &Store,
    account: AccountKey,
    batch: i64,
) -> Result<Vec<LiveRequest>, StoreError> {
    let rows = store.long_readers(account).fetch_all(SAMPLE_LIVE.bind(batch).bind(SAMPLE_MAX)).await?;
    rows.iter().map(read).collect()
}

fn read(row: &Row) -> Result<LiveRequest, StoreError> {
    Ok(LiveRequest {
        model: row.get("model")?,
        position: read_position(row)?,
        deadline: row.get("deadline")?,
        is_leased: row.get("is_leased")?,
        retry_at: row.get("retry_at")?,
    })
}
