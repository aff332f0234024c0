//! Requests: taken in, cancelled, read.

mod cancel;
mod insert;
mod lines;
mod listing;
mod pages;

pub(super) use self::cancel::CancelRequest;
pub use self::cancel::{CancelOutcome, cancel};
pub use self::insert::{NewRequest, insert};
#[cfg(test)]
pub(super) use self::listing::{FIND_CHARGE, LIST_ERRORS, floor_text, list_newest_of, list_texts};
pub use self::listing::{
    ListFilter, ListedRequest, RequestCharge, find_charge, find_id, list_errors, list_newest,
};
#[cfg(test)]
pub(super) use self::pages::page_texts;
pub use self::pages::{Direction, Filter, Page, Scope, page_records, page_summaries};

use overnight_domain::ids::{BatchId, RequestId};
use overnight_domain::records::{RequestRecord, RequestSummary};
use overnight_domain::scheduler::AccountKey;

use super::database::{Row, sql};
use super::{Store, StoreError, row};

/// What `row::request_summary` reads, behind the row number, of `requests r`, `progress p` and `queue q`.
macro_rules! summary_columns {
    () => {
        concat!(
            "p.seq, r.id, ",
            row::state!(),
            ", p.ready_at, ",
            row::in_progress_at!(),
            ", p.ended_at, r.created_at, r.expires_at"
        )
    };
}

use summary_columns;

/// The whole of a request, as [`read_record`] reads it.
macro_rules! select_record {
    () => {
        concat!(
            "SELECT ",
            summary_columns!(),
            ", b.id, r.metadata, r.body, r.webhook, s.body FROM requests r JOIN progress p ON p.seq = r.seq",
            row::queue_join!(),
            "LEFT JOIN batches b ON b.seq = p.batch LEFT JOIN results s ON s.seq = p.result_seq"
        )
    };
}

/// The status record of a request of `account`.
pub async fn find_summary(
    store: &Store,
    account: AccountKey,
    id: RequestId,
) -> Result<Option<RequestSummary>, StoreError> {
    let text = concat!(
        "SELECT ",
        summary_columns!(),
        " FROM requests r JOIN progress p ON p.seq = r.seq",
        row::queue_join!(),
        "WHERE r.id = ? AND r.account = ?"
    );
    let query = sql(text).bind(id.to_bytes()).bind(account.0);
    store.readers().fetch_optional(query).await?.map(|row| row::request_summary(&row, 1)).transpose()
}

/// The whole record of a request of `account`.
pub async fn find_record(
    store: &Store,
    account: AccountKey,
    id: RequestId,
) -> Result<Option<RequestRecord>, StoreError> {
    let text = concat!(select_record!(), " WHERE r.id = ? AND r.account = ?");
    let query = sql(text).bind(id.to_bytes()).bind(account.0);
    store.readers().fetch_optional(query).await?.map(|row| read_record(&row)).transpose()
}

/// The whole record of the request in row `seq`.
async fn find_record_at(store: &Store, seq: i64) -> Result<Option<RequestRecord>, StoreError> {
    let text = concat!(select_record!(), " WHERE r.seq = ?");
    let query = sql(text).bind(seq);
    store.readers().fetch_optional(query).await?.map(|row| read_record(&row)).transpose()
}

fn read_record(row: &Row) -> Result<RequestRecord, StoreError> {
    let batch_id: Option<&[u8]> = row.get(8)?;
    let batch_id =
        batch_id.map(|bytes| BatchId::from_bytes(bytes).ok_or(StoreError::Damaged("a batch's id")));
    Ok(RequestRecord {
        summary: row::request_summary(row, 1)?,
        batch_id: batch_id.transpose()?,
        metadata: row.get(9)?,
        body: row.get(10)?,
        webhook: row.get(11)?,
        result: row.get(12)?,
    })
}

fn read_summary(row: &Row) -> Result<(i64, RequestSummary), StoreError> {
    Ok((row.get(0)?, row::request_summary(row, 1)?))
}

/// The row number of a request of `account`: where a list goes on after it.
pub async fn find_seq(store: &Store, account: AccountKey, id: RequestId) -> Result<Option<i64>, StoreError> {
    let query = sql("SELECT seq FROM requests WHERE id = ? AND account = ?");
    let row = store.readers().fetch_optional(query.bind(id.to_bytes()).bind(account.0)).await?;
    row.map(|row| row.get(0)).transpose()
}
