//! Requests: created, read, cancelled, listed.

mod browse;
mod cancel;
mod create;
mod list;

use overnight_domain::ids::RequestId;
use overnight_domain::records::{RequestRecord, RequestSummary};
use overnight_domain::scheduler::AccountKey;

pub use self::browse::{BrowseQuery, RequestCharge, RequestRow, RequestsPage, browse, charge_of};
pub use self::cancel::cancel;
pub use self::create::create;
pub(super) use self::create::{Reviewed, review, take_in};
pub use self::list::{ListQuery, list_records, list_summaries};
use super::Services;
use super::errors::AppError;
use super::waiting::{self, WaitingReason};
use crate::store::requests;
pub use crate::store::requests::Direction;

const NOUN: &str = "request";

/// How a request stands, and why it waits if it does.
///
/// # Errors
///
/// [`AppError::NotFound`] where it is none of the account's.
pub async fn get_summary(
    services: &Services,
    account: AccountKey,
    id: RequestId,
) -> Result<(RequestSummary, Option<WaitingReason>), AppError> {
    let found = requests::find_summary(&services.store, account, id).await?;
    let (summary, model) = found.ok_or(AppError::NotFound(NOUN))?;
    let waiting = waiting::reason(services, &model, &summary.state).await?;
    Ok((summary, waiting))
}

/// The whole of a request, with its result once it has one.
///
/// # Errors
///
/// [`AppError::NotFound`] where it is none of the account's.
pub async fn get_record(
    services: &Services,
    account: AccountKey,
    id: RequestId,
) -> Result<RequestRecord, AppError> {
    requests::find_record(&services.store, account, id).await?.ok_or(AppError::NotFound(NOUN))
}
