//! Long lists of requests, page by page: each page goes on behind the last row of the one before, so that no reader,
//! however slow, holds a transaction open, and a list stays whole while requests are added.

use overnight_domain::records::{RequestRecord, RequestSummary};
use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::{AccountKey, ModelKey};

use super::lines::{
    self, RecordLine, detail_fields, record_head, record_line, small_bytes, summary_fields, summary_line,
};
use super::{find_record_at, read_record, read_summary, summary_columns};
use crate::store::database::{Dialect, Row, Statement, sql_each};
use crate::store::{Store, StoreError, row};

/// Status records of a page.
const SUMMARIES: i64 = 512;

/// Whole records of a page.
const RECORDS: i64 = 128;

/// Bytes of large bodies in a page.
const LARGE_BYTES: usize = 1 << 20;

/// Which requests a list is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All of an account.
    Account(AccountKey),
    /// All of a batch, by its row number.
    Batch(i64),
}

/// In which order a list runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Direction {
    /// In order of arrival.
    #[default]
    OldestFirst,
    /// In the opposite order.
    NewestFirst,
}

/// Which requests of its scope a list holds. Times are in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Filter {
    /// Those in this status.
    pub status: Option<RequestStatus>,
    /// Those for this model.
    pub model: Option<ModelKey>,
    /// Those created after this time.
    pub created_after: Option<i64>,
    /// Those created before this time.
    pub created_before: Option<i64>,
    /// The order.
    pub direction: Direction,
}

impl Filter {
    /// Whether a request that was in the list still is: its status is all that moves.
    fn holds(&self, request: &RequestSummary) -> bool {
        self.status.is_none_or(|status| request.state.status() == status)
    }
}

/// Some rows of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The rows, in order.
    pub rows: Vec<T>,
    /// Where the next page goes on; `None` at the end.
    pub next: Option<i64>,
}

/// Builds a text for each of the two scopes in two directions: `$head` what is asked of `progress p` and `requests r`
/// joined by `$join`, `$tail` what stands behind the limit.
macro_rules! page_texts {
    ($name:ident, $head:expr, $join:expr, $tables:expr, $tail:expr) => {
        const fn $name(scope: Scope, direction: Direction) -> &'static str {
            macro_rules! text {
                ($key:literal, $behind:literal, $order:literal) => {
                    concat!(
                        $head,
                        " FROM progress p ",
                        $join,
                        " requests r ON r.seq = p.seq",
                        row::queue_join!(),
                        $tables,
                        " WHERE ",
                        $key,
                        " AND ",
                        $behind,
                        " AND ",
                        row::state!(),
                        " BETWEEN ? AND ?",
                        " AND (? IS NULL OR p.model = ?) AND r.created_at > ? AND r.created_at < ?",
                        " ORDER BY ",
                        $order,
                        " LIMIT ? + 0",
                        $tail
                    )
                };
            }
            match (scope, direction) {
                (Scope::Account(_), Direction::OldestFirst) => text!("p.account = ?", "p.seq > ?", "p.seq"),
                (Scope::Account(_), Direction::NewestFirst) => {
                    text!("p.account = ?", "p.seq < ?", "p.seq DESC")
                }
                (Scope::Batch(_), Direction::OldestFirst) => {
                    text!("p.batch = ? AND p.batch IS NOT NULL", "p.seq > ?", "p.seq")
                }
                (Scope::Batch(_), Direction::NewestFirst) => {
                    text!("p.batch = ? AND p.batch IS NOT NULL", "p.seq < ?", "p.seq DESC")
                }
            }
        }
    };
}

/// Builds the text of a page that SQLite joins in one value.
macro_rules! joined {
    ($line:expr) => {
        concat!("SELECT group_concat(line, '') FROM (SELECT ", $line, " AS line")
    };
}

/// The tables that a whole record has beside those of a status record.
macro_rules! record_tables {
    () => {
        "LEFT JOIN batches b ON b.seq = p.batch LEFT JOIN results s ON s.seq = p.result_seq"
    };
}

/// What [`read_record_line`] reads: of a record that is not small, its length and no body.
macro_rules! record_columns {
    () => {
        concat!(
            summary_columns!(),
            ", b.id, CASE WHEN n.is_small THEN r.metadata END, CASE WHEN n.is_small THEN r.body END, r.webhook, \
             CASE WHEN n.is_small THEN s.body END, n.bytes, n.is_small"
        )
    };
}

/// The tables of a whole record, and how long it is.
macro_rules! measured_tables {
    () => {
        concat!(
            record_tables!(),
            " CROSS JOIN LATERAL (SELECT l.bytes, l.bytes <= ",
            small_bytes!(),
            " AS is_small FROM (SELECT (coalesce(octet_length(r.metadata), 0) + octet_length(r.body) \
               + coalesce(octet_length(s.body), 0))::bigint AS bytes) l) n"
        )
    };
}

page_texts!(summary_lines, joined!(summary_line!()), "CROSS JOIN", "", ")");
page_texts!(record_lines, joined!(record_line!()), "CROSS JOIN", record_tables!(), ")");
page_texts!(summary_rows, concat!("SELECT ", summary_columns!()), "JOIN", "", "");
page_texts!(record_rows, concat!("SELECT ", record_columns!()), "JOIN", measured_tables!(), "");

/// Every text of SQLite of this scope and direction, for the plan test.
#[cfg(test)]
pub(in crate::store) fn page_texts(scope: Scope, direction: Direction) -> [&'static str; 2] {
    [summary_lines(scope, direction), record_lines(scope, direction)]
}

/// A page of status records behind `after`, `limit` rows at most.
pub async fn page_summaries(
    store: &Store,
    scope: Scope,
    filter: &Filter,
    after: Option<i64>,
    limit: Option<i64>,
) -> Result<Page<RequestSummary>, StoreError> {
    let want = limit.map_or(SUMMARIES, |limit| limit.min(SUMMARIES));
    let texts = (summary_lines(scope, filter.direction), summary_rows(scope, filter.direction));
    let found = store.readers().fetch_all(bind(texts, scope, filter, after, want)).await?;
    let found = match store.dialect() {
        Dialect::Sqlite => lines::summaries(&found)?,
        Dialect::Postgres => found.iter().map(read_summary).collect::<Result<_, _>>()?,
    };
    let mut place = Place::new(filter.direction, after);
    let mut rows = Vec::with_capacity(found.len());
    for (seq, summary) in found {
        place.go_to(seq)?;
        rows.push(summary);
    }
    let next = place.seq.filter(|_| rows.len() as i64 >= want);
    Ok(Page { rows, next })
}

/// A page of whole records behind `after`, `limit` rows at most; about two mebibytes, or one record if it is larger.
///
/// Large bodies are read one by one behind their lines. A request that left the filter between the two reads is left
/// out.
pub async fn page_records(
    store: &Store,
    scope: Scope,
    filter: &Filter,
    after: Option<i64>,
    limit: Option<i64>,
) -> Result<Page<RequestRecord>, StoreError> {
    let want = limit.map_or(RECORDS, |limit| limit.min(RECORDS));
    let mut after = after;
    loop {
        let page = read_records(store, scope, filter, after, want).await?;
        if page.next.is_none() || !page.rows.is_empty() {
            return Ok(page);
        }
        after = page.next;
    }
}

async fn read_records(
    store: &Store,
    scope: Scope,
    filter: &Filter,
    after: Option<i64>,
    want: i64,
) -> Result<Page<RequestRecord>, StoreError> {
    let texts = (record_lines(scope, filter.direction), record_rows(scope, filter.direction));
    let found = store.readers().fetch_all(bind(texts, scope, filter, after, want)).await?;
    let found = match store.dialect() {
        Dialect::Sqlite => lines::records(&found)?,
        Dialect::Postgres => found.iter().map(read_record_line).collect::<Result<_, _>>()?,
    };
    let mut place = Place::new(filter.direction, after);
    let (mut rows, mut count, mut large_bytes) = (Vec::new(), 0, 0);
    for (seq, line) in found {
        match line {
            RecordLine::Whole(record) => rows.push(record),
            RecordLine::Large(bytes) => {
                large_bytes += bytes;
                if count > 0 && large_bytes > LARGE_BYTES {
                    return Ok(Page { rows, next: place.seq });
                }
                let record = find_record_at(store, seq).await?;
                rows.extend(record.filter(|record| filter.holds(&record.summary)));
            }
        }
        place.go_to(seq)?;
        count += 1;
    }
    let next = place.seq.filter(|_| count >= want);
    Ok(Page { rows, next })
}

fn read_record_line(row: &Row) -> Result<(i64, RecordLine), StoreError> {
    let line = if row.get(14)? {
        RecordLine::Whole(read_record(row)?)
    } else {
        let bytes = usize::try_from(row.get::<i64>(13)?);
        RecordLine::Large(bytes.map_err(|_| StoreError::Damaged("the length of a record"))?)
    };
    Ok((row.get(0)?, line))
}

/// Where a list has come to. SQL promises no order to what joins lines, so each step is looked at.
struct Place {
    direction: Direction,
    seq: Option<i64>,
}

impl Place {
    const fn new(direction: Direction, after: Option<i64>) -> Self {
        Self { direction, seq: after }
    }

    fn go_to(&mut self, seq: i64) -> Result<(), StoreError> {
        let is_onward = self.seq.is_none_or(|last| match self.direction {
            Direction::OldestFirst => seq > last,
            Direction::NewestFirst => seq < last,
        });
        self.seq = Some(seq);
        if is_onward { Ok(()) } else { Err(StoreError::Damaged("the order of a list")) }
    }
}

fn bind(
    (sqlite, postgres): (&'static str, &'static str),
    scope: Scope,
    filter: &Filter,
    after: Option<i64>,
    limit: i64,
) -> Statement {
    let key = match scope {
        Scope::Account(account) => account.0,
        Scope::Batch(batch) => batch,
    };
    let start = match filter.direction {
        Direction::OldestFirst => i64::MIN,
        Direction::NewestFirst => i64::MAX,
    };
    let (first, last) = row::codes(filter.status);
    let model = filter.model.map(|model| model.0);
    sql_each(sqlite, postgres)
        .bind(key)
        .bind(after.unwrap_or(start))
        .bind(first)
        .bind(last)
        .bind(model)
        .bind(model)
        .bind(filter.created_after.unwrap_or(i64::MIN))
        .bind(filter.created_before.unwrap_or(i64::MAX))
        .bind(limit)
}
