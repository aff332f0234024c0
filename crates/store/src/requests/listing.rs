//! Requests as the console lists them, from the view `current_requests`.

use overnight_domain::ids::{BatchId, RequestId};
use overnight_domain::money::Credits;
use overnight_domain::records::RequestSummary;
use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::{AccountKey, ModelKey};

use crate::database::{Row, Sql, statements};
use crate::direction::Direction;
use crate::lists::{self, LOOKED_MAX, ListPage, PAGE_ROWS, Question, Search};
use crate::request_blocks::Wanted;
use crate::{Store, StoreError, row};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListScope {
    Account(AccountKey),
    /// All of a batch, by row number.
    Batch(AccountKey, i64),
}

impl ListScope {
    const fn account(self) -> AccountKey {
        match self {
            Self::Account(account) | Self::Batch(account, _) => account,
        }
    }

    /// A batch is read as it was sent; an account newest first.
    const fn direction(self) -> Direction {
        match self {
            Self::Account(_) => Direction::NewestFirst,
            Self::Batch(..) => Direction::OldestFirst,
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListFilter {
    pub status: Option<RequestStatus>,
    pub model: Option<ModelKey>,
    pub search: Option<Search>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedRequest {
    pub seq: i64,
    pub summary: RequestSummary,
    pub batch_id: Option<BatchId>,
    pub model: String,
    /// `None` if longer than 16 KiB.
    pub body: Option<Vec<u8>>,
    pub body_bytes: i64,
    pub charge: RequestCharge,
    /// The result of a failed one; `None` if longer than 16 KiB.
    pub error: Option<Vec<u8>>,
    pub metadata: Option<Vec<u8>>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestCharge {
    /// `None` unless it completed.
    pub prompt_tokens: Option<i64>,
    /// `None` unless it completed.
    pub completion_tokens: Option<i64>,
    /// `None` if not charged.
    pub amount: Option<Credits>,
}

/// As far as it was noted: earlier builds had no columns for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestHandling {
    /// To the queue, in milliseconds.
    pub released_at: Option<i64>,
    /// The engine replica that completed it, or failed it last, by its name in the settings.
    pub engine: Option<String>,
}

statements! {
    /// Bound in order: account; row before which to continue; last row to examine; range of states as stored, and of current ones; model,
    /// twice; the values of [`lists::bind_search`]; limit.
    LIST_OF_ACCOUNT = {
        sqlite: "SELECT seq, id, state, ready_at, in_progress_at, ended_at, created_at, expires_at, batch_id, model_name, body_bytes,
               CASE WHEN body_bytes <= 16384 THEN body END AS body, prompt_tokens, completion_tokens, charged,
               CASE WHEN state = 4 /* failed */ AND octet_length(result) <= 16384 THEN result END AS error, metadata
        FROM current_requests WHERE account = ? AND seq < ? AND seq >= ? AND stored_state BETWEEN ? AND ? AND state BETWEEN ? AND ? AND (CAST(? AS BIGINT) IS NULL OR named_model = ?)
          AND (? = 0 OR instr(metadata, ?) > 0 OR instr(metadata, ?) > 0 OR instr(metadata, ?) > 0
            OR ((instr(metadata, ?) > 0 OR instr(metadata, ?) > 0 OR instr(metadata, ?) > 0)
              AND (instr(metadata, ?) > 0 OR instr(metadata, ?) > 0 OR instr(metadata, ?) > 0)))
        ORDER BY seq DESC LIMIT ?",
        postgres: "SELECT seq, id, state, ready_at, in_progress_at, ended_at, created_at, expires_at, batch_id, model_name, body_bytes,
               CASE WHEN body_bytes <= 16384 THEN body END AS body, prompt_tokens, completion_tokens, charged,
               CASE WHEN state = 4 /* failed */ AND octet_length(result) <= 16384 THEN result END AS error, metadata
        FROM current_requests WHERE account = ? AND seq < ? AND seq >= ? AND stored_state BETWEEN ? AND ? AND state BETWEEN ? AND ? AND (CAST(? AS BIGINT) IS NULL OR named_model = ?)
          AND (? = 0 OR position(? IN metadata) > 0 OR position(? IN metadata) > 0 OR position(? IN metadata) > 0
            OR ((position(? IN metadata) > 0 OR position(? IN metadata) > 0 OR position(? IN metadata) > 0)
              AND (position(? IN metadata) > 0 OR position(? IN metadata) > 0 OR position(? IN metadata) > 0)))
        ORDER BY seq DESC LIMIT ?",
    };
    /// In order of arrival: row after which to continue, and last row to examine.
    LIST_OF_BATCH = {
        sqlite: "SELECT seq, id, state, ready_at, in_progress_at, ended_at, created_at, expires_at, batch_id, model_name, body_bytes,
               CASE WHEN body_bytes <= 16384 THEN body END AS body, prompt_tokens, completion_tokens, charged,
               CASE WHEN state = 4 /* failed */ AND octet_length(result) <= 16384 THEN result END AS error, metadata
        FROM current_requests WHERE batch = ? AND batch IS NOT NULL AND seq > ? AND seq <= ? AND stored_state BETWEEN ? AND ? AND state BETWEEN ? AND ? AND (CAST(? AS BIGINT) IS NULL OR named_model = ?)
          AND (? = 0 OR instr(metadata, ?) > 0 OR instr(metadata, ?) > 0 OR instr(metadata, ?) > 0
            OR ((instr(metadata, ?) > 0 OR instr(metadata, ?) > 0 OR instr(metadata, ?) > 0)
              AND (instr(metadata, ?) > 0 OR instr(metadata, ?) > 0 OR instr(metadata, ?) > 0)))
        ORDER BY seq LIMIT ?",
        postgres: "SELECT seq, id, state, ready_at, in_progress_at, ended_at, created_at, expires_at, batch_id, model_name, body_bytes,
               CASE WHEN body_bytes <= 16384 THEN body END AS body, prompt_tokens, completion_tokens, charged,
               CASE WHEN state = 4 /* failed */ AND octet_length(result) <= 16384 THEN result END AS error, metadata
        FROM current_requests WHERE batch = ? AND batch IS NOT NULL AND seq > ? AND seq <= ? AND stored_state BETWEEN ? AND ? AND state BETWEEN ? AND ? AND (CAST(? AS BIGINT) IS NULL OR named_model = ?)
          AND (? = 0 OR position(? IN metadata) > 0 OR position(? IN metadata) > 0 OR position(? IN metadata) > 0
            OR ((position(? IN metadata) > 0 OR position(? IN metadata) > 0 OR position(? IN metadata) > 0)
              AND (position(? IN metadata) > 0 OR position(? IN metadata) > 0 OR position(? IN metadata) > 0)))
        ORDER BY seq LIMIT ?",
    };
    /// The last row examined for a page.
    FLOOR_OF_ACCOUNT = "SELECT seq FROM request_states WHERE account = ? AND seq < ? ORDER BY seq DESC LIMIT 1 OFFSET ?";
    FLOOR_OF_BATCH = "SELECT seq FROM request_states WHERE batch = ? AND batch IS NOT NULL AND seq > ?
        ORDER BY seq LIMIT 1 OFFSET ?";
    /// Requests of a batch after one row up to another, and the number of deleted ones.
    COUNT_BETWEEN = "SELECT deleted, (SELECT count(*) FROM request_states WHERE batch = ? AND batch IS NOT NULL AND seq > ? AND seq <= ?) AS count
        FROM batches WHERE seq = ?";
    FIND_CHARGE = "SELECT prompt_tokens, completion_tokens, charged FROM current_requests WHERE id = ? AND account = ?";
    FIND_HANDLING = "SELECT rs.released_at, t.engine FROM requests r JOIN request_states rs ON rs.seq = r.seq
        LEFT JOIN results t ON t.seq = rs.result_seq WHERE r.id = ? AND r.account = ?";
    FIND_ID = "SELECT id FROM requests WHERE seq = ?";
    LIST_ERRORS = "SELECT rs.seq, CASE WHEN octet_length(t.body) <= 16384 THEN t.body END AS error
        FROM request_states rs LEFT JOIN results t ON t.seq = rs.result_seq
        WHERE rs.batch = ? AND rs.batch IS NOT NULL AND rs.seq > ? AND rs.state = 4 /* failed */ ORDER BY rs.seq LIMIT ?";
}

/// The statements of a list: a page, and its last examined row.
pub(crate) const fn list_of(scope: ListScope) -> (&'static Sql, &'static Sql) {
    match scope {
        ListScope::Account(_) => (&LIST_OF_ACCOUNT, &FLOOR_OF_ACCOUNT),
        ListScope::Batch(..) => (&LIST_OF_BATCH, &FLOOR_OF_BATCH),
    }
}

/// Requests after row `before`: of an account newest first, of a batch in order of arrival. Examines at most 20,000.
pub async fn list_page(
    store: &Store,
    scope: ListScope,
    filter: &ListFilter,
    before: Option<i64>,
) -> Result<ListPage<ListedRequest>, StoreError> {
    list_page_of(store, scope, filter, before, LOOKED_MAX).await
}

/// As [`list_page`], examining at most `looked_max`.
pub(crate) async fn list_page_of(
    store: &Store,
    scope: ListScope,
    filter: &ListFilter,
    before: Option<i64>,
    looked_max: u32,
) -> Result<ListPage<ListedRequest>, StoreError> {
    let (ListScope::Account(AccountKey(key)) | ListScope::Batch(_, key)) = scope;
    let (list, floor) = list_of(scope);
    let states = row::codes(filter.status);
    let (first_stored, last_stored) = row::stored_codes(states);
    let model = filter.model.map(|model| model.0);
    let question = Question {
        direction: scope.direction(),
        wanted: Some(Wanted { states, model: filter.model, created_after: None, created_before: None }),
        before,
        rows_max: PAGE_ROWS,
        looked_max,
        floor: |behind, count| floor.bind(key).bind(behind).bind(count - 1),
        rows: |behind, floor, limit| {
            let query = list.bind(key).bind(behind).bind(floor).bind(first_stored).bind(last_stored);
            let query = query.bind(states.0).bind(states.1).bind(model).bind(model);
            lists::bind_search(filter.search.as_ref(), query).bind(limit as i64)
        },
    };
    lists::page(&store.long_readers(scope.account()), filter.search.as_ref(), question, read).await
}

fn read(row: &Row) -> Result<ListedRequest, StoreError> {
    let reference = row.reference("body")?;
    let body = if reference.is_some() { None } else { row.get("body")? };
    let body_bytes = row.get::<i64>("body_bytes")?;
    Ok(ListedRequest {
        seq: row.get("seq")?,
        summary: row::request_summary(row)?,
        batch_id: row.get("batch_id")?,
        model: row.get("model_name")?,
        body,
        body_bytes: reference.map_or(body_bytes, |it| i64::try_from(it.bytes).unwrap_or(i64::MAX)),
        charge: read_charge(row)?,
        error: row.get("error")?,
        metadata: row.get("metadata")?,
    })
}

fn read_charge(row: &Row) -> Result<RequestCharge, StoreError> {
    Ok(RequestCharge {
        prompt_tokens: row.get("prompt_tokens")?,
        completion_tokens: row.get("completion_tokens")?,
        amount: row.get("charged")?,
    })
}

pub async fn find_charge(
    store: &Store,
    account: AccountKey,
    id: RequestId,
) -> Result<Option<RequestCharge>, StoreError> {
    let query = FIND_CHARGE.bind(id).bind(account);
    store.readers().fetch_optional(query).await?.as_ref().map(read_charge).transpose()
}

/// Empty for an unknown request.
pub async fn find_handling(
    store: &Store,
    account: AccountKey,
    id: RequestId,
) -> Result<RequestHandling, StoreError> {
    let row = store.readers().fetch_optional(FIND_HANDLING.bind(id).bind(account)).await?;
    row.map_or(Ok(RequestHandling::default()), |row| {
        Ok(RequestHandling { released_at: row.get("released_at")?, engine: row.get("engine")? })
    })
}

/// Requests of a batch after row `behind` up to row `last`; `None` if some are deleted, so that places are unknown. Reads as many rows.
pub async fn count_between(
    store: &Store,
    account: AccountKey,
    batch: i64,
    (behind, last): (i64, i64),
) -> Result<Option<i64>, StoreError> {
    let query = COUNT_BETWEEN.bind(batch).bind(behind).bind(last).bind(batch);
    let row = store.long_readers(account).fetch_one(query).await?;
    let deleted: i64 = row.get("deleted")?;
    let count = row.get("count")?;
    Ok((deleted == 0).then_some(count))
}

pub async fn find_id(store: &Store, seq: i64) -> Result<Option<RequestId>, StoreError> {
    let row = store.readers().fetch_optional(FIND_ID.bind(seq)).await?;
    row.map(|row| row.get("id")).transpose()
}

/// The first failed requests of a batch after row `behind`: row numbers and results, without results longer than 16 KiB.
pub async fn list_errors(
    store: &Store,
    account: AccountKey,
    batch: i64,
    behind: i64,
    limit: u32,
) -> Result<Vec<(i64, Option<Vec<u8>>)>, StoreError> {
    let query = LIST_ERRORS.bind(batch).bind(behind).bind(limit);
    let rows = store.long_readers(account).fetch_all(query).await?;
    rows.iter().map(|row| Ok((row.get("seq")?, row.get("error")?))).collect()
}
