//! Requests: taken in, cancelled, read.

mod cancel;
mod insert;
mod pages;

pub(super) use self::cancel::CancelRequest;
pub use self::cancel::{CancelOutcome, cancel};
pub use self::insert::{NewRequest, insert};
#[cfg(test)]
pub(super) use self::pages::page_texts;
pub use self::pages::{Direction, Filter, Page, Scope, page_records, page_summaries};
pub(super) use self::pages::{detail_columns, detail_tables, summary_columns};

use overnight_domain::ids::RequestId;
use overnight_domain::records::{RequestRecord, RequestSummary};
use overnight_domain::scheduler::AccountKey;
use sqlx::Row;

use super::{Store, StoreError, row};

/// The status record of a request of `account`.
pub async fn find_summary(
    store: &Store,
    account: AccountKey,
    id: RequestId,
) -> Result<Option<RequestSummary>, StoreError> {
    let text = concat!(
        "SELECT ",
        summary_columns!(),
        " FROM requests r JOIN progress p ON p.seq = r.seq WHERE r.id = ? AND r.account = ?"
    );
    let query = sqlx::query(text).bind(id.to_bytes().to_vec()).bind(account.0);
    query.fetch_optional(store.readers()).await?.map(|row| row::request_summary(&row, 1)).transpose()
}

/// The whole record of a request of `account`.
pub async fn find_record(
    store: &Store,
    account: AccountKey,
    id: RequestId,
) -> Result<Option<RequestRecord>, StoreError> {
    let text = concat!(
        "SELECT ",
        summary_columns!(),
        ", ",
        detail_columns!(),
        " FROM requests r JOIN progress p ON p.seq = r.seq ",
        detail_tables!(),
        " WHERE r.id = ? AND r.account = ?"
    );
    let query = sqlx::query(text).bind(id.to_bytes().to_vec()).bind(account.0);
    query.fetch_optional(store.readers()).await?.map(|row| pages::read_record(&row)).transpose()
}

/// The row number of a request of `account`: where a list goes on after it.
pub async fn find_seq(store: &Store, account: AccountKey, id: RequestId) -> Result<Option<i64>, StoreError> {
    let query = sqlx::query("SELECT seq FROM requests WHERE id = ? AND account = ?");
    let row = query.bind(id.to_bytes().to_vec()).bind(account.0).fetch_optional(store.readers()).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}
