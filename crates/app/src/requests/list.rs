use overnight_domain::ids::RequestId;
use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::AccountKey;
use overnight_store::requests::models;
use overnight_store::requests::{self, Direction, Filter, PageScope};

use crate::Services;
use crate::errors::AppError;
use crate::pages::{Cursor, RecordPages, SummaryPages};

/// Filters of List Requests. Times are in Unix seconds, as clients read them.
#[derive(Debug, Clone, Default)]
pub struct ListQuery {
    pub status: Option<RequestStatus>,
    /// For this model; a model that was never configured has no requests.
    pub model: Option<String>,
    /// Created in a later second than this one.
    pub created_after: Option<i64>,
    /// Created in an earlier second than this one.
    pub created_before: Option<i64>,
    pub limit: Option<u64>,
    /// Continues after this one. The identifier zero is never found.
    pub after: Option<RequestId>,
    pub direction: Direction,
}

/// The requests of an account without their bodies.
pub async fn list_summaries(
    services: &Services,
    account: AccountKey,
    query: &ListQuery,
) -> Result<SummaryPages, AppError> {
    of_account(services, account, query).await.map(SummaryPages)
}

/// The requests of an account as whole records.
pub async fn list_records(
    services: &Services,
    account: AccountKey,
    query: &ListQuery,
) -> Result<RecordPages, AppError> {
    of_account(services, account, query).await.map(RecordPages)
}

/// The start of the list that `query` asks for.
async fn of_account(services: &Services, account: AccountKey, query: &ListQuery) -> Result<Cursor, AppError> {
    let store = services.store.clone();
    let after = match query.after {
        Some(id) => {
            let seq = requests::find_seq(&store, account, id).await?;
            Some(seq.ok_or(AppError::NotFound("request for this list to go on after"))?)
        }
        None => None,
    };
    let (model, is_over) = match &query.model {
        Some(name) => {
            let key = models::find(&store, name).await?;
            (key, key.is_none())
        }
        None => (None, false),
    };
    let milliseconds = |seconds: i64| seconds.saturating_mul(1_000);
    let filter = Filter {
        status: query.status,
        is_unanswered: false,
        model,
        created_after: query.created_after.map(|second| milliseconds(second).saturating_add(999)),
        created_before: query.created_before.map(milliseconds),
    };
    let scope = PageScope::Account(account, query.direction);
    Ok(Cursor { store, scope, filter, after, left: query.limit, is_over })
}
