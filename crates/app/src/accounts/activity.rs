//! An account's requests that ended recently.

use overnight_domain::activity::{ActivityRecord, QUARTER_MS, quarter_of};
use overnight_domain::scheduler::AccountKey;
use overnight_store::ledger::activity;

use crate::Services;
use crate::errors::AppError;

/// Requests that ended in the last `hours` hours, counted per quarter of an hour, oldest first. It includes the current quarter and the one
/// in which the period begins, and omits empty ones.
pub async fn list(
    services: &Services,
    account: AccountKey,
    hours: u32,
) -> Result<Vec<ActivityRecord>, AppError> {
    let quarters = i64::from(hours) * 3_600_000 / QUARTER_MS;
    let first_quarter = quarter_of(services.clock.now()) - quarters;
    Ok(activity::list(&services.store, account, first_quarter).await?)
}
