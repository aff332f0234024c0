//! Testing a receiver.

use overnight_domain::ids::AccountId;
use overnight_domain::webhooks::{Event, EventKind, Subject};
use overnight_wire::native::events::write_event;

use crate::app::errors::AppError;
use crate::app::idempotency::{self, FormKey};
use crate::app::{Services, accounts, input};
use crate::store::idempotency_keys::Guarded;
use crate::store::outbox::{self, EventRecord, NewTest};

/// Has an event of type `webhook.test` told at `url`, signed as any other, by a running service within a second. It is
/// tried once, and given up if that fails; a replay has the whole schedule before it. Returns the event as it is now.
///
/// Of what a form sends, once for all of its repeats.
///
/// # Errors
///
/// [`AppError::NotFound`] where there is no such account; [`AppError::Invalid`] for an address that could not be the
/// `webhook` of a request; [`AppError::Unavailable`] while another test of the account waits or is being sent.
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
