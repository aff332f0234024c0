//! Requests: taken in, cancelled, read, deleted.
//!
//! Four tables hold a request. `requests` is written once. `request_states` is the small row that changes (gathering, queued, ended);
//! it has what an end needs: the hold and its price. `queue` holds only what waits or runs, clustered in the order in which it will
//! run, so that a run of leases writes neighbouring rows. `results` is written once, in order of ending. Deadlines stand in an index
//! that an end does not touch; the expirer passes through it once and remembers its position, and the worker `deadline_slack`
//! likewise finds the earliest deadline of a live request ahead of it.

pub(crate) mod beside;
pub(crate) mod cancel;
pub(crate) mod deletion;
pub(crate) mod insert;
pub(crate) mod listing;
pub(crate) mod live;
pub mod models;
pub(crate) mod pages;
pub(crate) mod records;
pub(crate) mod retention;
pub(crate) mod unmarking;

pub use self::cancel::{CancelOutcome, cancel};
pub use self::deletion::{DeletionOutcome, delete_request};
pub(crate) use self::deletion::{ROWS_MAX, delete, read_chunk};
pub use self::insert::{insert, insert_once, stored_bytes};
#[cfg(test)]
pub(super) use self::listing::{COUNT_BETWEEN, FIND_CHARGE, LIST_ERRORS, list_of, list_page_of};
pub use self::listing::{
    ListFilter, ListScope, ListedRequest, RequestCharge, RequestHandling, count_between, find_charge,
    find_handling, find_id, list_errors, list_page,
};
pub use self::live::{LiveRequest, find_live, list_live, sample_live};
pub use self::pages::{Filter, Page, PageScope, page_records, page_summaries};
#[cfg(test)]
pub(super) use self::pages::{edge_of, records_of, summaries_of};
pub use self::records::{NewRequest, find_record};
pub use self::retention::{Due, FOR_EVER, delete_ended, list_due, set_retention, skip_future};
pub use self::unmarking::unmark_ended;
pub use crate::direction::Direction;

use overnight_domain::ids::RequestId;
use overnight_domain::records::RequestSummary;
use overnight_domain::scheduler::AccountKey;

use crate::database::statements;
use crate::{Store, StoreError, row};

statements! {
    FIND_SUMMARY = "SELECT id, state, ready_at, in_progress_at, ended_at, created_at, expires_at, model_name
        FROM current_requests WHERE id = ? AND account = ?";
    FIND_OWNER = "SELECT account FROM requests WHERE id = ?";
    FIND_SEQ = "SELECT seq FROM requests WHERE id = ? AND account = ?";
}

/// With the name of its model.
pub async fn find_summary(
    store: &Store,
    account: AccountKey,
    id: RequestId,
) -> Result<Option<(RequestSummary, String)>, StoreError> {
    let found = store.readers().fetch_optional(FIND_SUMMARY.bind(id).bind(account)).await?;
    found.map(|found| Ok((row::request_summary(&found)?, found.get("model_name")?))).transpose()
}

/// For operators, who may ask for any.
pub async fn find_owner(store: &Store, id: RequestId) -> Result<Option<AccountKey>, StoreError> {
    let row = store.readers().fetch_optional(FIND_OWNER.bind(id)).await?;
    row.map(|row| row.get("account")).transpose()
}

/// Where a list continues after it.
pub async fn find_seq(store: &Store, account: AccountKey, id: RequestId) -> Result<Option<i64>, StoreError> {
    let row = store.readers().fetch_optional(FIND_SEQ.bind(id).bind(account)).await?;
    row.map(|row| row.get("seq")).transpose()
}
