//! Webhooks: what they say, what they are signed with, what was told, telling it again, and testing a receiver.

mod account_view;
mod probe;

use bytes::Bytes;
use overnight_domain::faults::codes;
use overnight_domain::ids::{AccountId, EventId};
use overnight_domain::scheduler::AccountKey;
use overnight_domain::webhooks::signature::SigningSecret;
use overnight_wire::native::events::write_event;

pub use self::account_view::{failure_told, get_own, list_own_deliveries, list_own_events, replay_own};
pub use self::probe::send_test;
use super::errors::AppError;
use super::idempotency::FormKey;
use super::{Services, accounts};
use crate::config::Millis;
use crate::store::lists::ListPage;
use crate::store::outbox::webhook_secrets;
pub use crate::store::outbox::webhook_secrets::WebhookSecret;
use crate::store::outbox::{self, DeliveryFilter, EventFilter, Payload, Replay};
pub use crate::store::outbox::{DeliveryCursor, DeliveryRecord, EventRecord, EventState, WaitingEvents};

/// The body that tells of an event, as it was sent before or is to be from now on.
pub fn payload(payload: &Payload) -> Bytes {
    match payload {
        Payload::Kept(bytes) => bytes.clone(),
        Payload::Of(event) => {
            let mut bytes = Vec::with_capacity(384);
            write_event(event, &mut bytes);
            bytes.into()
        }
    }
}

/// The longest time for which two secrets are signed with.
pub const OVERLAP_MAX: Millis = Millis(OVERLAP_DAYS_MAX * 86_400_000);

const OVERLAP_DAYS_MAX: i64 = 30;

/// What an account's webhooks are signed with now, the newest first: one, and those that it replaces for as long as they
/// overlap.
pub async fn secrets(services: &Services, id: AccountId) -> Result<Vec<WebhookSecret>, AppError> {
    let account = accounts::get(services, id).await?;
    Ok(webhook_secrets::list(&services.store, account.key, services.clock.now()).await?)
}

/// Replaces an account's secret. Those before are signed with beside it until they end, and not longer than `overlap`.
/// Running services sign so at once. For what a form sends, it is done once for all of its repeats.
///
/// # Errors
///
/// [`AppError::NotFound`] where there is no such account; [`AppError::Invalid`] for an overlap longer than
/// [`OVERLAP_MAX`].
pub async fn rotate(
    services: &Services,
    id: AccountId,
    overlap: Millis,
    form: Option<FormKey>,
) -> Result<Vec<WebhookSecret>, AppError> {
    if overlap > OVERLAP_MAX {
        let message = format!("must be at most {OVERLAP_DAYS_MAX} days");
        return Err(AppError::invalid("overlap", codes::OUT_OF_RANGE, &message));
    }
    let account = accounts::get(services, id).await?;
    let (secret, now) = (SigningSecret::new(services.ids.random()), services.clock.now());
    let once = form.map(|form| form.once(&""));
    webhook_secrets::rotate_once(&services.store, account.key, &secret, now, overlap.0, once).await?;
    secrets(services, id).await
}

/// A page of events of an account, or of all of them, behind the one in row `before`, the newest first.
pub async fn list_events(
    services: &Services,
    account: Option<AccountId>,
    state: Option<EventState>,
    before: Option<i64>,
    limit: u32,
) -> Result<ListPage<EventRecord>, AppError> {
    let account = key_of(services, account).await?;
    Ok(outbox::list(&services.store, EventFilter { account, state, before, limit }).await?)
}

/// Some tries of an account, or of all of them, or of one event; the newest first.
///
/// # Errors
///
/// [`AppError::NotFound`] where there is no such account or event.
pub async fn list_deliveries(
    services: &Services,
    account: Option<AccountId>,
    event: Option<EventId>,
    limit: u32,
) -> Result<Vec<DeliveryRecord>, AppError> {
    let account = key_of(services, account).await?;
    if let Some(id) = event {
        outbox::find(&services.store, id).await?.ok_or(AppError::NotFound("event"))?;
    }
    Ok(outbox::list_deliveries(&services.store, DeliveryFilter { account, event, before: None, limit })
        .await?)
}

/// How many events that are no tests were given up since a time, in milliseconds.
pub async fn count_exhausted(services: &Services, since: i64) -> Result<i64, AppError> {
    Ok(outbox::count_exhausted(&services.store, since).await?)
}

/// Events that are no tests and wait to be told, for the first time or again.
pub async fn count_waiting(services: &Services) -> Result<WaitingEvents, AppError> {
    Ok(outbox::count_waiting(&services.store).await?)
}

async fn key_of(services: &Services, account: Option<AccountId>) -> Result<Option<AccountKey>, AppError> {
    match account {
        Some(id) => Ok(Some(accounts::get(services, id).await?.key)),
        None => Ok(None),
    }
}

/// Has an event told again, whatever became of it: with the same identifier and the same bytes, and the whole schedule
/// before it. A running service does so within a second. Returns the event as it is now.
///
/// # Errors
///
/// [`AppError::NotFound`] where there is no such event; [`AppError::Unavailable`] while it is being sent.
pub async fn replay(services: &Services, id: EventId) -> Result<EventRecord, AppError> {
    replay_for(services, None, id).await
}

/// The same, in the turn of `account` if an account asks.
async fn replay_for(
    services: &Services,
    account: Option<AccountKey>,
    id: EventId,
) -> Result<EventRecord, AppError> {
    match outbox::replay(&services.store, account, id, services.clock.now()).await? {
        Replay::Unknown => Err(AppError::NotFound("event")),
        Replay::Sending => Err(AppError::Unavailable(format!("{id} is being sent in this moment"))),
        Replay::Due => outbox::find(&services.store, id).await?.ok_or(AppError::NotFound("event")),
    }
}

/// Has every event of an account told again that was given up and is no test; how many.
pub async fn replay_exhausted(services: &Services, id: AccountId) -> Result<u64, AppError> {
    let account = accounts::get(services, id).await?;
    Ok(outbox::replay_exhausted(&services.store, account.key, services.clock.now()).await?)
}
