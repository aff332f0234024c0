//! How an account stands: what lives of its requests.

use std::sync::Arc;

use overnight_domain::scheduler::AccountKey;

use super::Services;
use super::errors::AppError;
use crate::store::queue::live_counts::{self, Live};

/// What lives of an account's requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// How many are registered: they gather or wait, and were never at an engine.
    pub waiting: i64,
    pub in_progress: i64,
    /// The earliest deadline of any of them, in milliseconds; `None` where nothing lives.
    pub oldest_deadline: Option<i64>,
    /// When that was so, in milliseconds.
    pub counted_at: i64,
}

/// How an account stands, as it was counted up to a second ago, or where a count takes long up to 20 times as long ago.
pub async fn get(services: &Services, account: AccountKey) -> Result<Standing, AppError> {
    let (store, clock) = (services.store.clone(), Arc::clone(&services.clock));
    let count = async move {
        let counted_at = clock.now();
        let Live { waiting, in_progress, oldest_deadline } = live_counts::count(&store, account).await?;
        Ok(Standing { waiting, in_progress, oldest_deadline, counted_at })
    };
    services.live_counts.of_accounts.get(account, &services.clock, Box::pin(count)).await
}
