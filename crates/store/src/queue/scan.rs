//! Looking at the queue. A look only reads: leases, which are guarded, decide.

use overnight_domain::endpoints::Endpoint;
use overnight_domain::ids::RequestId;
use overnight_domain::scheduler::{Backlog, Candidate, QueuePartition, ReplicaKey};
use overnight_domain::traces::TraceContext;

use crate::database::{Dialect, Row, Value, statements};
use crate::queue::queue_scan::{KeyRange, read_candidate, scan_range};
use crate::queue::releases::{self, read_backlog, read_partition};
use crate::queue::segments;
use crate::{Store, StoreError, row};

statements! {
    BACKLOGS = "SELECT model, account, count(*) AS count, max(retry_at) AS retry_at
        FROM queue WHERE phase = 0 /* waiting */ GROUP BY model, account";
    /// Walks from partition to partition by the queue's key, however many requests each has.
    WAITING_PARTITIONS = { postgres: "WITH RECURSIVE g(model, account) AS (
            (SELECT model, account FROM queue ORDER BY model, account LIMIT 1)
            UNION ALL
            SELECT n.model, n.account FROM g CROSS JOIN LATERAL (
                SELECT q.model, q.account FROM queue q WHERE (q.model, q.account) > (g.model, g.account)
                ORDER BY q.model, q.account LIMIT 1) n
        ) SELECT model, account FROM g WHERE EXISTS (
            SELECT 1 FROM queue q
            WHERE q.model = g.model AND q.account = g.account AND q.phase = 0 /* waiting */ AND q.retry_at <= ?)" };
    SMALL_PROMPTS over [Integer] = {
        sqlite: "SELECT seq, id, body, endpoint, created_at, max_tokens, fifo_hit_permille, trace FROM requests
            WHERE octet_length(body) <= ?1 AND seq = ?2",
        postgres: "SELECT seq, id, body, endpoint, created_at, max_tokens, fifo_hit_permille, trace FROM requests
            WHERE octet_length(body) <= $1 AND seq = ANY ($2::bigint[])",
    };
    FIND_PROMPT = "SELECT seq, id, body, endpoint, created_at, max_tokens, fifo_hit_permille, trace FROM requests WHERE seq = ?";
}

/// Waiting requests that may be tried by `now`, in order; and whether they are the last.
///
/// If nodes share the queue, `range` is ignored: the next run of the replica's segment is read.
pub async fn look(
    store: &Store,
    partition: QueuePartition,
    replica: ReplicaKey,
    range: KeyRange<'_>,
    limit: u32,
    now: i64,
) -> Result<(Vec<Candidate>, bool), StoreError> {
    let candidates = match store.dialect() {
        Dialect::Sqlite => {
            let rows = store.readers().fetch_all(scan_range(partition, range, limit, now)).await?;
            rows.iter().map(read_candidate).collect::<Result<Vec<_>, _>>()?
        }
        Dialect::Postgres => segments::take(store, partition, replica, limit, now).await?,
    };
    let reached_end = candidates.len() < limit as usize;
    Ok((candidates, reached_end))
}

/// Waiting requests by partition, and the latest retry time of partitions with retries after `now`; read once, at the start.
pub async fn backlogs(
    store: &Store,
    now: i64,
) -> Result<(Vec<Backlog>, Vec<(QueuePartition, i64)>), StoreError> {
    let (mut backlogs, mut delayed) = (Vec::new(), Vec::new());
    for row in store.readers().fetch_all(BACKLOGS.unbound()).await? {
        let backlog = read_backlog(&row)?;
        let retry_at = row.get("retry_at")?;
        delayed.extend((retry_at > now).then_some((backlog.partition, retry_at)));
        backlogs.push(backlog);
    }
    Ok((backlogs, delayed))
}

/// Partitions with requests that may be tried by `now`, for nodes on PostgreSQL, whose queue others fill too.
pub async fn waiting_partitions(store: &Store, now: i64) -> Result<Vec<QueuePartition>, StoreError> {
    store.readers().fetch_all(WAITING_PARTITIONS.bind(now)).await?.iter().map(read_partition).collect()
}

/// Of gathering requests, in milliseconds.
pub async fn next_ready_at(store: &Store) -> Result<Option<i64>, StoreError> {
    store.readers().fetch_one(releases::NEXT_READY_AT.unbound()).await?.get("ready_at")
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    pub seq: i64,
    pub id: RequestId,
    pub body: Vec<u8>,
    pub endpoint: Endpoint,
    /// In milliseconds.
    pub created_at: i64,
    /// The output limit of one completion that was held, if known.
    pub max_tokens: Option<u32>,
    /// Estimated share that a prefix cache would hold if requests were sent in order of arrival, in thousandths.
    pub fifo_hit_permille: Option<u16>,
    /// `None` if it is not traced.
    pub trace: Option<TraceContext>,
}

/// Larger prompts are read one by one, to limit memory.
const SMALL_PROMPT_BYTES: i64 = 64 << 10;

/// Prompts of up to 64 KiB among these requests, in no order.
pub async fn list_small_prompts(store: &Store, seqs: &[i64]) -> Result<Vec<Prompt>, StoreError> {
    let seqs = seqs.iter().map(|seq| Value::from(*seq)).collect();
    let rows = store.readers().fetch_all(SMALL_PROMPTS.over([SMALL_PROMPT_BYTES.into()], seqs)).await?;
    let mut prompts = Vec::with_capacity(rows.len());
    for row in &rows {
        // A reference is short, whatever its object holds.
        if row.reference("body")?.is_none() {
            // A damaged one does not fail others; it is reported when read by itself.
            prompts.extend(read_prompt(row, row.get("body")?));
        }
    }
    Ok(prompts)
}

/// `None` if the request is gone.
pub async fn find_prompt(store: &Store, seq: i64) -> Result<Option<Prompt>, StoreError> {
    let Some(row) = store.readers().fetch_optional(FIND_PROMPT.bind(seq)).await? else { return Ok(None) };
    let body = match row.reference("body")? {
        None => row.get("body")?,
        Some(_) => Box::pin(store.load(&row, "body")).await?.unwrap_or_default().into(),
    };
    read_prompt(&row, body).map(Some)
}

fn read_prompt(row: &Row, body: Vec<u8>) -> Result<Prompt, StoreError> {
    Ok(Prompt {
        seq: row.get("seq")?,
        id: row.get("id")?,
        body: row::body(body, "body")?,
        endpoint: row::endpoint(row)?,
        created_at: row.get("created_at")?,
        max_tokens: row.get("max_tokens")?,
        fifo_hit_permille: row.get("fifo_hit_permille")?,
        trace: row::trace(row)?,
    })
}
