mod again;
mod browse;
mod cancel;
mod create;
mod delete;
pub mod explanation;
pub mod fifo_baselines;
mod labels;
mod list;
pub(crate) mod rate_limits;
mod refused;
pub mod stalls;
mod wait;
pub mod waiting;

use overnight_domain::ids::RequestId;
use overnight_domain::records::{RequestRecord, RequestSummary};
use overnight_domain::requests::RequestState;
use overnight_domain::scheduler::AccountKey;

pub use self::again::{send_again, send_one};
pub use self::browse::{
    BrowseQuery, RequestCharge, RequestHandling, RequestRow, RequestsPage, browse, charge_of, handling,
};
pub use self::cancel::cancel;
pub(super) use self::create::rate_allows;
pub(super) use self::create::{Coming, Reviewed, review, review_text, take_in};
pub use self::create::{Reading, Sent, create, create_within, look, take_rate};
pub use self::delete::delete;
pub use self::labels::Label;
pub use self::list::{ListQuery, list_records, list_summaries};
pub(super) use self::refused::RefusedRequest;
pub use self::wait::{AwaitedEnds, wait};
use overnight_base::planted_bugs::Bug;
use overnight_store::requests;

use self::waiting::WaitingReason;
use super::Services;
use super::errors::AppError;
use super::forecasts;
pub use overnight_store::requests::Direction;

pub(super) const NOUN: &str = "request";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prospect {
    /// Why it waits, if it does.
    pub waiting: Option<WaitingReason>,
    /// The estimated completion time, in milliseconds.
    pub completed_at: Option<i64>,
}

/// The state of a live request that was sent to an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trying {
    /// At an engine, or about to be.
    Now,
    /// Waits for another turn.
    Again {
        /// The earliest time, in milliseconds.
        at: i64,
    },
}

/// `None` if the request has ended, or never entered the queue.
pub async fn trying(
    services: &Services,
    account: AccountKey,
    id: RequestId,
) -> Result<Option<Trying>, AppError> {
    let live = requests::find_live(&services.store, account, id).await?;
    Ok(live.map(|live| if live.is_leased { Trying::Now } else { Trying::Again { at: live.retry_at } }))
}

/// The state of a request, and the work ahead of it.
pub async fn get_summary(
    services: &Services,
    account: AccountKey,
    id: RequestId,
) -> Result<(RequestSummary, Prospect), AppError> {
    let found = requests::find_summary(&services.store, account, id).await?;
    if Bug::ForeignIdToldApart.is_planted()
        && found.is_none()
        && requests::find_owner(&services.store, id).await?.is_some()
    {
        return Err(AppError::NotEnded(NOUN));
    }
    let (summary, model) = found.ok_or(AppError::NotFound(NOUN))?;
    let waiting = match summary.state {
        RequestState::InProgress { .. } => {
            waiting::reason_to_wait_again(services, account, id, &model).await?
        }
        _ => waiting::reason(services, &model, &summary.state).await?,
    };
    let is_stuck = waiting.as_ref().is_some_and(WaitingReason::is_fault);
    let completed_at = match is_stuck {
        true => None,
        false => forecasts::of_request(services, account, &summary).await?,
    };
    Ok((summary, Prospect { waiting, completed_at }))
}

/// The full request, with its result if it has one.
pub async fn get_record(
    services: &Services,
    account: AccountKey,
    id: RequestId,
) -> Result<RequestRecord, AppError> {
    requests::find_record(&services.store, account, id).await?.ok_or(AppError::NotFound(NOUN))
}
