//! Webhooks: bodies, signing secrets, deliveries, replays, and tests of receivers.

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
use overnight_config::Millis;
use overnight_store::lists::ListPage;
use overnight_store::outbox::webhook_secrets;

use super::errors::AppError;
use super::idempotency::FormKey;
use super::{Services, accounts};
pub use overnight_store::outbox::webhook_secrets::WebhookSecret;
use overnight_store::outbox::{self, DeliveryFilter, EventFilter, Payload, Replay};
pub use overnight_store::outbox::{DeliveryCursor, DeliveryRecord, EventRecord, EventState, WaitingEvents};

/// The body of an event: as it was sent before, or in the current form.
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

/// The longest time for which two secrets sign.
pub const OVERLAP_MAX: Millis = Millis(OVERLAP_DAYS_MAX * 86_400_000);

const OVERLAP_DAYS_MAX: i64 = 30;

/// The current signing secrets of an account, newest first: the newest, and replaced ones during their overlap.
pub async fn secrets(services: &Services, id: AccountId) -> Result<Vec<WebhookSecret>, AppError> {
    let account = accounts::get(services, id).await?;
    Ok(webhook_secrets::list(&services.store, account.key, services.clock.now()).await?)
}

/// Replaces an account's secret. Earlier ones also sign until they end, at most for `overlap`. Running services use it immediately. Repeats
/// of a form have no further effect. Fails with [`AppError::Invalid`] if the overlap is longer than [`OVERLAP_MAX`].
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

/// A page of events of an account, or of all accounts, older than row `before`, newest first.
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

/// Deliveries of an account, of all accounts, or of one event, newest first.
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

/// The number of events, except tests, that exhausted their schedule since a time, in milliseconds.
pub async fn count_exhausted(services: &Services, since: i64) -> Result<i64, AppError> {
    Ok(outbox::count_exhausted(&services.store, since).await?)
}

/// Events, except tests, that wait for their first or next delivery.
pub async fn count_waiting(services: &Services) -> Result<WaitingEvents, AppError> {
    Ok(outbox::count_waiting(&services.store).await?)
}

async fn key_of(services: &Services, account: Option<AccountId>) -> Result<Option<AccountKey>, AppError> {
    match account {
        Some(id) => Ok(Some(accounts::get(services, id).await?.key)),
        None => Ok(None),
    }
}

/// Schedules an event again, whatever its state: with the same identifier, the same bytes and the full schedule. A running service sends it
/// within a second. Returns the updated event. Fails with [`AppError::Unavailable`] while it is being sent.
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

/// Replays every event of an account that exhausted its schedule and is not a test. Returns their number.
pub async fn replay_exhausted(services: &Services, id: AccountId) -> Result<u64, AppError> {
    let account = accounts::get(services, id).await?;
    Ok(outbox::replay_exhausted(&services.store, account.key, services.clock.now()).await?)
}
