//! An account's view of its own webhooks, and its actions on them. Another account's event looks like an unknown one.

use overnight_domain::ids::EventId;
use overnight_domain::scheduler::AccountKey;
use overnight_store::lists::ListPage;
use overnight_store::outbox::{
    self, DeliveryCursor, DeliveryFilter, DeliveryRecord, EventFilter, EventRecord, EventState,
};

use super::replay_for;
use crate::Services;
use crate::errors::AppError;

/// The failure shown to an account if an address cannot be reached. Details (no such name, a blocked address, no listener) would reveal the
/// inside of this network to the account that chose the name.
const UNREACHABLE: &str = "unreachable";

/// The form of a failure that the account that chose the address may read.
pub fn failure_told(failure: &str) -> &str {
    match failure {
        "refused_address" | "unresolved" => UNREACHABLE,
        other => other,
    }
}

/// A page of an account's events older than row `before`, newest first.
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

/// Deliveries of an account, or of one of its events, older than `before`, newest first. Failures have the form of [`failure_told`],
/// without the time that it took to find a host unreachable. Fails with [`AppError::NotFound`] if `event` or that of `before` is not the
/// account's.
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

/// Like [`super::replay`], for an event of the account.
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
    use overnight_outgoing::webhooks::Failure;

    use super::*;

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
