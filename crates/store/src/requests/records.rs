//! Whole requests: columns as written and exported, and records as read.

use bytes::Bytes;
use overnight_base::encryption;
use overnight_domain::endpoints::Endpoint;
use overnight_domain::ids::RequestId;
use overnight_domain::records::{ClientFields, RequestRecord};
use overnight_domain::scheduler::{AccountKey, ModelKey};
use overnight_domain::sort_key::SortKey;
use overnight_domain::traces::TraceContext;

use crate::database::{Column, Columns, Kind, Row, statements};
use crate::ledger::holds::Hold;
use crate::queue::attempts::list_attempts;
use crate::read_queue::LongReaders;
use crate::{Store, StoreError, row};

/// Times are in milliseconds.
#[derive(Debug, Clone)]
pub struct NewRequest {
    pub id: RequestId,
    pub account: AccountKey,
    pub model: ModelKey,
    /// The alias by which it names the model, if any.
    pub alias: Option<ModelKey>,
    pub created_at: i64,
    /// End of its completion window.
    pub expires_at: i64,
    /// End of gathering.
    pub ready_at: i64,
    pub sort_key: SortKey,
    /// Estimated, in tokens.
    pub cost: i64,
    /// `None` if it is free.
    pub hold: Option<Hold>,
    /// Of one completion, for the engine; `None` for the setting's at sending.
    pub max_tokens: Option<u32>,
    /// Share of its prompt that a prefix cache would hold if requests were sent in order of arrival, in thousandths; `None` without such a
    /// cache.
    pub fifo_hit_permille: Option<u16>,
    pub endpoint: Endpoint,
    /// `None` if it is not traced.
    pub trace: Option<TraceContext>,
    /// Row number of the API key that created it, if any.
    pub api_key: Option<i64>,
    /// Row number; `None` if a client may group it.
    pub batch: Option<i64>,
    /// Fields that the client sent in addition to the body.
    pub client: ClientFields,
    /// JSON without white space outside strings, for the engine.
    pub body: Bytes,
}

/// Columns of `requests`, which no write changes, in the order of the table, which is also that of an export's rows.
pub(crate) const COLUMNS: &[Column<NewRequest>] = &[
    Column::number("seq"),
    Column::new("id", Kind::Bytes, |request| request.id.into()),
    Column::new("account", Kind::Integer, |request| request.account.into()),
    Column::new("model", Kind::Integer, |request| request.model.into()),
    Column::new("created_at", Kind::Integer, |request| request.created_at.into()),
    Column::new("expires_at", Kind::Integer, |request| request.expires_at.into()),
    Column::new("metadata", Kind::Json, |request| request.client.metadata.clone().into()),
    Column::new("webhook", Kind::Text, |request| request.client.webhook.clone().into()),
    Column::long("body", Kind::Json, |request| request.body.clone().into()),
    Column::new("max_tokens", Kind::Integer, |request| request.max_tokens.map(i64::from).into()),
    Column::new("fifo_hit_permille", Kind::Integer, |request| {
        request.fifo_hit_permille.map(i64::from).into()
    }),
    Column::new("endpoint", Kind::Integer, |request| request.endpoint.code().into()),
    // A client chooses it, and may choose the mark of a stored value.
    Column::new("trace", Kind::Bytes, |request| {
        request.trace.map(|trace| encryption::unencrypted(trace.to_bytes().into())).into()
    }),
    Column::new("alias", Kind::Integer, |request| request.alias.map(|alias| alias.0).into()),
];

pub(crate) static REQUESTS: Columns<NewRequest> = Columns::new("requests", COLUMNS);

statements! {
    FIND_RECORD = "SELECT id, state, ready_at, in_progress_at, ended_at, created_at, expires_at, batch_id, metadata, body,
               webhook, result, warnings, endpoint, CASE WHEN EXISTS (SELECT 1 FROM attempts a WHERE a.request = c.seq) THEN 1 ELSE 0 END AS was_retried
        FROM current_requests c WHERE id = ? AND account = ?";
    FIND_RECORD_AT = "SELECT id, state, ready_at, in_progress_at, ended_at, created_at, expires_at, batch_id, metadata, body,
               webhook, result, warnings, endpoint
        FROM current_requests WHERE seq = ?";
    RECORDS_AT over [Integer] = {
        sqlite: "SELECT seq, id, state, ready_at, in_progress_at, ended_at, created_at, expires_at, batch_id, webhook,
                   CASE WHEN bytes <= 16384 THEN metadata END AS metadata, CASE WHEN bytes <= 16384 THEN body END AS body,
                   CASE WHEN bytes <= 16384 THEN result END AS result, warnings, endpoint
            FROM current_requests WHERE seq = ?1",
        postgres: "SELECT seq, id, state, ready_at, in_progress_at, ended_at, created_at, expires_at, batch_id, webhook,
                   CASE WHEN bytes <= 16384 THEN metadata END AS metadata, CASE WHEN bytes <= 16384 THEN body END AS body,
                   CASE WHEN bytes <= 16384 THEN result END AS result, warnings, endpoint
            FROM current_requests WHERE seq = ANY ($1::bigint[])",
    };
    RECORDS_OF_ACCOUNT_OLDEST_FIRST = "SELECT seq, id, state, ready_at, in_progress_at, ended_at, created_at, expires_at, batch_id, webhook,
               CASE WHEN bytes <= 16384 THEN metadata END AS metadata, CASE WHEN bytes <= 16384 THEN body END AS body,
               CASE WHEN bytes <= 16384 THEN result END AS result, warnings, endpoint
        FROM current_requests WHERE account = ? AND seq > ? AND seq <= ? AND stored_state BETWEEN ? AND ? AND state BETWEEN ? AND ? AND (CAST(? AS BIGINT) IS NULL OR named_model = ?)
          AND created_at > ? AND created_at < ? ORDER BY seq LIMIT ?";
    RECORDS_OF_ACCOUNT_NEWEST_FIRST = "SELECT seq, id, state, ready_at, in_progress_at, ended_at, created_at, expires_at, batch_id, webhook,
               CASE WHEN bytes <= 16384 THEN metadata END AS metadata, CASE WHEN bytes <= 16384 THEN body END AS body,
               CASE WHEN bytes <= 16384 THEN result END AS result, warnings, endpoint
        FROM current_requests WHERE account = ? AND seq < ? AND seq >= ? AND stored_state BETWEEN ? AND ? AND state BETWEEN ? AND ? AND (CAST(? AS BIGINT) IS NULL OR named_model = ?)
          AND created_at > ? AND created_at < ? ORDER BY seq DESC LIMIT ?";
    RECORDS_OF_BATCH = "SELECT seq, id, state, ready_at, in_progress_at, ended_at, created_at, expires_at, batch_id, webhook,
               CASE WHEN bytes <= 16384 THEN metadata END AS metadata, CASE WHEN bytes <= 16384 THEN body END AS body,
               CASE WHEN bytes <= 16384 THEN result END AS result, warnings, endpoint
        FROM current_requests WHERE batch = ? AND batch IS NOT NULL AND seq > ? AND seq <= ? AND stored_state BETWEEN ? AND ? AND state BETWEEN ? AND ? AND (CAST(? AS BIGINT) IS NULL OR named_model = ?)
          AND created_at > ? AND created_at < ? ORDER BY seq LIMIT ?";
}

/// With its failed attempts.
pub async fn find_record(
    store: &Store,
    account: AccountKey,
    id: RequestId,
) -> Result<Option<RequestRecord>, StoreError> {
    let query = FIND_RECORD.bind(id).bind(account);
    let Some(row) = store.readers().fetch_optional(query).await? else { return Ok(None) };
    let mut record = read_whole(store, &row).await?;
    if row.get("was_retried")? {
        record.attempts = list_attempts(store, account, id).await?;
    }
    Ok(Some(record))
}

/// Without its attempts.
pub(crate) async fn find_record_at(
    store: &Store,
    readers: &LongReaders<'_>,
    seq: i64,
) -> Result<Option<RequestRecord>, StoreError> {
    let query = FIND_RECORD_AT.bind(seq);
    let Some(row) = readers.fetch_optional(query).await? else { return Ok(None) };
    read_whole(store, &row).await.map(Some)
}

/// With bodies from the object store; holds no reader meanwhile.
pub(crate) async fn read_whole(store: &Store, row: &Row) -> Result<RequestRecord, StoreError> {
    if row.reference("body")?.is_none() && row.reference("result")?.is_none() {
        return read_record(row);
    }
    // Of two calls that begin while the object store is away, one is refused, and the other must not end with it.
    let (body, result) =
        Box::pin(async { tokio::join!(store.load(row, "body"), store.load(row, "result")) }).await;
    record_of(row, body?, result?)
}

/// `None` if its bodies are large, or in the object store.
pub(crate) fn read_record_in(row: &Row) -> Result<Option<RequestRecord>, StoreError> {
    let is_beside = row.reference("body")?.is_some() || row.reference("result")?.is_some();
    if is_beside || row.get::<Option<&[u8]>>("body")?.is_none() {
        return Ok(None);
    }
    read_record(row).map(Some)
}

fn read_record(row: &Row) -> Result<RequestRecord, StoreError> {
    record_of(row, row.share("body")?, row.share("result")?)
}

fn record_of(row: &Row, body: Option<Bytes>, result: Option<Bytes>) -> Result<RequestRecord, StoreError> {
    Ok(RequestRecord {
        summary: row::request_summary(row)?,
        batch_id: row.get("batch_id")?,
        endpoint: row::endpoint(row)?,
        client: ClientFields { metadata: row.share("metadata")?, webhook: row.get("webhook")? },
        body: row::body(body.unwrap_or_default(), "body")?,
        result: result.map(|result| row::body(result, "result")).transpose()?,
        warnings: row.share("warnings")?,
        attempts: Vec::new(),
    })
}
