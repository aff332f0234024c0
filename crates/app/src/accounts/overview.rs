//! An account's live requests.

use std::sync::Arc;

use overnight_domain::scheduler::AccountKey;
use overnight_store::queue::counts::{self, Live};

use crate::Services;
use crate::errors::AppError;

/// Counts of an account's live requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Requests that gather or wait and were never sent to an engine.
    pub waiting: i64,
    pub in_progress: i64,
    /// The earliest deadline of a live request, in milliseconds; `None` if there is none.
    pub oldest_deadline: Option<i64>,
    /// In milliseconds.
    pub counted_at: i64,
}

/// The counts, up to a second old, or up to 20 times as old as a slow count takes.
pub async fn get(services: &Services, account: AccountKey) -> Result<Standing, AppError> {
    let (store, clock) = (services.store.clone(), Arc::clone(&services.clock));
    let count = async move {
        let counted_at = clock.now();
        let Live { waiting, in_progress, oldest_deadline } = counts::of_account(&store, account).await?;
        Ok(Standing { waiting, in_progress, oldest_deadline, counted_at })
    };
    services.live_counts.of_accounts.get(account, &services.clock, Box::pin(count)).await
}
