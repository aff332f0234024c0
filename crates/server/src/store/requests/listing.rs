//! Requests as people look through them.

use overnight_domain::ids::{BatchId, RequestId};
use overnight_domain::money::Credits;
use overnight_domain::records::RequestSummary;
use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::{AccountKey, ModelKey};

use super::{Scope, summary_columns};
use crate::store::listing::{self, ListPage, Listed};
use crate::store::search::{self, Search};
use crate::store::database::{Row, Statement, sql, sql_each};
use crate::store::{Store, StoreError, row};

/// How many requests are looked through for a page.
pub(in crate::store) const LOOKED_MAX: u32 = 20_000;

/// The longest body, or error, of which a row shows something, in bytes.
macro_rules! shown_bytes {
    () => {
        "16384"
    };
}

/// Which requests are listed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListFilter {
    /// Those in this status.
    pub status: Option<RequestStatus>,
    /// Those for this model.
    pub model: Option<ModelKey>,
    /// Those whose metadata hold this.
    pub search: Option<Search>,
}

/// A request in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedRequest {
    /// What the status record says.
    pub summary: RequestSummary,
    /// The batch it belongs to, if any.
    pub batch_id: Option<BatchId>,
    /// The model it names.
    pub model: String,
    /// Its body, unless that is longer than 16 KiB.
    pub body: Option<Vec<u8>>,
    /// How long its body is, in bytes.
    pub body_bytes: i64,
    /// What it used and cost.
    pub charge: RequestCharge,
    /// The result of a failed one, unless that is longer than 16 KiB.
    pub error: Option<Vec<u8>>,
    /// The client's metadata.
    pub metadata: Option<Vec<u8>>,
}

/// What a request used and cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestCharge {
    /// Tokens it read; `None` unless it completed.
    pub prompt_tokens: Option<i64>,
    /// Tokens it wrote; `None` unless it completed.
    pub completion_tokens: Option<i64>,
    /// What was charged for it; `None` where nothing was.
    pub amount: Option<Credits>,
}

/// What [`read_charge`] reads, of `results s` and `ledger l`.
macro_rules! charge_columns {
    () => {
        "s.prompt_tokens, s.completion_tokens, -l.amount"
    };
}

/// Joins the result of `progress p` and its charge.
macro_rules! charge_join {
    () => {
        " LEFT JOIN results s ON s.seq = p.result_seq LEFT JOIN ledger l ON l.result = p.result_seq AND l.result IS NOT NULL "
    };
}

/// Builds the text of a page: of which rows of `progress p`, how `requests r` is joined, and how text is found.
macro_rules! page_text {
    ($of:literal, $join:literal, $found:literal) => {
        concat!(
            "SELECT ",
            summary_columns!(),
            ", b.id, m.name, CASE WHEN octet_length(r.body) <= ",
            shown_bytes!(),
            " THEN r.body END, CAST(octet_length(r.body) AS BIGINT), ",
            charge_columns!(),
            ", CASE WHEN p.state = 4 AND octet_length(s.body) <= ",
            shown_bytes!(),
            " THEN s.body END, r.metadata FROM progress p ",
            $join,
            " requests r ON r.seq = p.seq",
            row::queue_join!(),
            "LEFT JOIN models m ON m.seq = p.model LEFT JOIN batches b ON b.seq = p.batch",
            charge_join!(),
            "WHERE ",
            $of,
            " AND p.seq < ? AND p.seq >= ? AND ",
            row::state!(),
            " BETWEEN ? AND ? AND (? IS NULL OR p.model = ?)",
            search::condition!($found),
            " ORDER BY p.seq DESC LIMIT ? + 0"
        )
    };
}

/// The same for both databases.
macro_rules! page_texts {
    ($of:literal) => {
        (
            page_text!($of, "CROSS JOIN", "instr(r.metadata, ?) > 0"),
            page_text!($of, "JOIN", "position(? IN r.metadata) > 0"),
        )
    };
}

/// The text of a page.
pub(in crate::store) const fn list_texts(scope: Scope) -> (&'static str, &'static str) {
    match scope {
        Scope::Account(_) => page_texts!("p.account = ?"),
        Scope::Batch(_) => page_texts!("p.batch = ? AND p.batch IS NOT NULL"),
    }
}

/// The last row that is looked at for a page.
pub(in crate::store) const fn floor_text(scope: Scope) -> &'static str {
    match scope {
        Scope::Account(_) => {
            "SELECT seq FROM progress WHERE account = ? AND seq < ? ORDER BY seq DESC LIMIT 1 OFFSET ? + 0"
        }
        Scope::Batch(_) => {
            "SELECT seq FROM progress WHERE batch = ? AND batch IS NOT NULL AND seq < ?
             ORDER BY seq DESC LIMIT 1 OFFSET ? + 0"
        }
    }
}

/// A page of requests behind the one in row `before`, the newest first; 20,000 are looked through at most.
pub async fn list_newest(
    store: &Store,
    scope: Scope,
    filter: &ListFilter,
    before: Option<i64>,
) -> Result<ListPage<ListedRequest>, StoreError> {
    list_newest_of(store, scope, filter, before, LOOKED_MAX).await
}

/// The same with so many looked through at most.
pub(in crate::store) async fn list_newest_of(
    store: &Store,
    scope: Scope,
    filter: &ListFilter,
    before: Option<i64>,
    looked_max: u32,
) -> Result<ListPage<ListedRequest>, StoreError> {
    let (Scope::Account(AccountKey(key)) | Scope::Batch(key)) = scope;
    let floor = sql(floor_text(scope)).bind(key).bind(before.unwrap_or(i64::MAX)).bind(looked_max - 1);
    let floor = store.readers().fetch_optional(floor).await?.map(|row| row.get::<i64>(0)).transpose()?;
    let statement = |behind: i64, limit: usize| -> Statement {
        let (sqlite, postgres) = list_texts(scope);
        let (first, last) = row::codes(filter.status);
        let model = filter.model.map(|model| model.0);
        let query = sql_each(sqlite, postgres)
            .bind(key)
            .bind(behind)
            .bind(floor.unwrap_or(i64::MIN))
            .bind(first)
            .bind(last)
            .bind(model)
            .bind(model);
        search::bind(filter.search.as_ref(), query).bind(limit as i64)
    };
    listing::page(store, before, floor, filter.search.as_ref(), statement).await
}

impl Listed for ListedRequest {
    fn read(row: &Row) -> Result<(i64, Self), StoreError> {
        let batch_id = row.get::<Option<&[u8]>>(8)?;
        let batch_id =
            batch_id.map(|bytes| BatchId::from_bytes(bytes).ok_or(StoreError::Damaged("a batch's id")));
        let listed = Self {
            summary: row::request_summary(row, 1)?,
            batch_id: batch_id.transpose()?,
            model: row.get::<Option<String>>(9)?.ok_or(StoreError::Damaged("a request's model"))?,
            body: row.get(10)?,
            body_bytes: row.get(11)?,
            charge: read_charge(row, 12)?,
            error: row.get(15)?,
            metadata: row.get(16)?,
        };
        Ok((row.get(0)?, listed))
    }

    fn metadata(&self) -> Option<&[u8]> {
        self.metadata.as_deref()
    }
}

fn read_charge(row: &Row, first: usize) -> Result<RequestCharge, StoreError> {
    Ok(RequestCharge {
        prompt_tokens: row.get(first)?,
        completion_tokens: row.get(first + 1)?,
        amount: row.get::<Option<i64>>(first + 2)?.map(Credits::from_nanos),
    })
}

pub(in crate::store) const FIND_CHARGE: &str = concat!(
    "SELECT ",
    charge_columns!(),
    " FROM requests r JOIN progress p ON p.seq = r.seq",
    charge_join!(),
    "WHERE r.id = ? AND r.account = ?"
);

/// What a request of `account` used and cost.
pub async fn find_charge(
    store: &Store,
    account: AccountKey,
    id: RequestId,
) -> Result<Option<RequestCharge>, StoreError> {
    let query = sql(FIND_CHARGE).bind(id.to_bytes()).bind(account.0);
    store.readers().fetch_optional(query).await?.map(|row| read_charge(&row, 0)).transpose()
}

/// The identifier of the request in row `seq`.
pub async fn find_id(store: &Store, seq: i64) -> Result<Option<RequestId>, StoreError> {
    let row = store.readers().fetch_optional(sql("SELECT id FROM requests WHERE seq = ?").bind(seq)).await?;
    row.map(|row| RequestId::from_bytes(row.get(0)?).ok_or(StoreError::Damaged("a request's id"))).transpose()
}

pub(in crate::store) const LIST_ERRORS: &str = concat!(
    "SELECT CASE WHEN octet_length(s.body) <= ",
    shown_bytes!(),
    " THEN s.body END FROM progress p LEFT JOIN results s ON s.seq = p.result_seq \
     WHERE p.batch = ? AND p.batch IS NOT NULL AND p.state = 4 ORDER BY p.seq LIMIT ? + 0"
);

/// The results of the first so many failed requests of the batch in row `batch`; `None` for one longer than 16 KiB.
pub async fn list_errors(store: &Store, batch: i64, limit: u32) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
    let rows = store.readers().fetch_all(sql(LIST_ERRORS).bind(batch).bind(limit)).await?;
    rows.iter().map(|row| row.get(0)).collect()
}
