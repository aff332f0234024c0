//! Testing a receiver.

use overnight_domain::ids::AccountId;
use overnight_domain::webhooks::{Event, EventKind, Subject};
use overnight_store::idempotency_keys::Guarded;
use overnight_store::outbox::{self, EventRecord, NewTest};
use overnight_wire::native::events::write_event;

use crate::errors::AppError;
use crate::idempotency::{self, FormKey};
use crate::{Services, accounts, input};

/// Has a running service send a signed `webhook.test` event to `url` within a second. It is tried once; a replay has the full schedule.
/// Repeats of a form have no further effect. Returns the event. Fails with [`AppError::Invalid`] if a request could not have the address as
/// its `webhook`, and with [`AppError::Unavailable`] while another test of the account waits or is being sent.
pub async fn send_test(
    services: &Services,
    id: AccountId,
    url: &str,
    form: Option<FormKey>,
) -> Result<EventRecord, AppError> {
    input::check_address(url, &services.config().webhooks)?;
    let account = accounts::get(services, id).await?;
    let now = services.clock.now();
    let (kind, subject) = (EventKind::WebhookTest, Subject::Account(id));
    let event = Event { id: services.ids.next(now), kind, created_at: now, subject };
    let mut payload = Vec::with_capacity(128);
    write_event(&event, &mut payload);
    let (url, payload) = (url.to_owned(), payload.into());
    let test = NewTest { id: event.id, account: account.key, url, payload, now };
    let once = form.map(|form| form.once(&event.id));
    let sent = match outbox::insert_test_once(&services.store, test, once).await? {
        Guarded::Done(true) => event.id,
        Guarded::Done(false) => {
            let busy = "another test of this account has not ended: wait until it has been tried";
            return Err(AppError::Unavailable(busy.to_owned()));
        }
        Guarded::Recalled(recalled) => idempotency::made_before(recalled)?,
    };
    outbox::find(&services.store, sent).await?.ok_or(AppError::NotFound("event"))
}
