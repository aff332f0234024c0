//! What ended of an account's requests lately.

use overnight_domain::activity::{ActivityRecord, QUARTER_MS, quarter_of};
use overnight_domain::scheduler::AccountKey;

use super::Services;
use super::errors::AppError;
use crate::store::ledger::activity;

/// What ended in the last `hours` hours, by quarter of an hour and the oldest first: the one that runs among them, and the one in which
/// the time begins. One in which nothing ended is not there.
pub async fn list(
    services: &Services,
    account: AccountKey,
    hours: u32,
) -> Result<Vec<ActivityRecord>, AppError> {
    let quarters = i64::from(hours) * 3_600_000 / QUARTER_MS;
    let first_quarter = quarter_of(services.clock.now()) - quarters;
    Ok(activity::list(&services.store, account, first_quarter).await?)
}
