//! What an account is shown of its own webhooks, and may do about them. A foreign event looks like an unknown one.

use overnight_domain::ids::EventId;
use overnight_domain::scheduler::AccountKey;

use super::replay_for;
use crate::app::Services;
use crate::app::errors::AppError;
use crate::store::lists::ListPage;
use crate::store::outbox::{
    self, DeliveryCursor, DeliveryFilter, DeliveryRecord, EventFilter, EventRecord, EventState,
};

/// What an account is told of every failure to reach an address. Whether a name led nowhere, to an address that is not
/// called, or to one where nobody is, would tell whoever chose the name what is on the inside of this network.
const UNREACHABLE: &str = "unreachable";

/// The word for a failure that whoever chose the address may read.
pub fn failure_told(failure: &str) -> &str {
    match failure {
        "refused_address" | "unresolved" => UNREACHABLE,
        other => other,
    }
}

/// A page of an account's events behind the one in row `before`, the newest first.
pub async fn list_own_events(
    services: &Services,
    account: AccountKey,
    state: Option<EventState>,
    before: Option<i64>,
    limit: u32,
) -> Result<ListPage<EventRecord>, AppError> {
    let filter = EventFilter { account: Some(account), state, before, limit };
    Ok(outbox::list(&services.store, filter).await?)
}

/// Some tries of an account behind `before`, or of one of its events; the newest first. Failures are told as
/// [`failure_told`] says, and how long it took to find somebody unreachable is not told.
///
/// # Errors
///
/// [`AppError::NotFound`] where `event` or that of `before` is none of the account's.
pub async fn list_own_deliveries(
    services: &Services,
    account: AccountKey,
    event: Option<EventId>,
    before: Option<DeliveryCursor>,
    limit: u32,
) -> Result<Vec<DeliveryRecord>, AppError> {
    for id in event.into_iter().chain(before.map(|place| place.event)) {
        get_own(services, account, id).await?;
    }
    let filter = DeliveryFilter { account: Some(account), event, before, limit };
    let mut tries = outbox::list_deliveries(&services.store, filter).await?;
    tries.iter_mut().for_each(veil);
    Ok(tries)
}

pub async fn get_own(services: &Services, account: AccountKey, id: EventId) -> Result<EventRecord, AppError> {
    let found = outbox::find_own(&services.store, account, id).await?;
    found.ok_or(AppError::NotFound("event"))
}

/// As [`super::replay`], of an event of the account.
///
/// # Errors
///
/// [`AppError::NotFound`] where it is none of the account's; [`AppError::Unavailable`] while it is being sent.
pub async fn replay_own(
    services: &Services,
    account: AccountKey,
    id: EventId,
) -> Result<EventRecord, AppError> {
    get_own(services, account, id).await?;
    replay_for(services, Some(account), id).await
}

fn veil(tried: &mut DeliveryRecord) {
    let Some(failure) = &mut tried.failure else { return };
    *failure = failure_told(failure).to_owned();
    if failure == UNREACHABLE {
        tried.duration_ms = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webhooks::Failure;

    #[test]
    fn whether_an_inner_name_exists_is_not_told() {
        for failure in [Failure::Refused, Failure::Unresolved, Failure::Unreachable] {
            assert_eq!(failure_told(failure.as_str()), UNREACHABLE);
        }
        for failure in [Failure::Url, Failure::Tls, Failure::TimedOut, Failure::Broken] {
            assert_eq!(failure_told(failure.as_str()), failure.as_str());
        }
    }
}
