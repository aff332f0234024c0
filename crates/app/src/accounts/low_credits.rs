//! Notices to accounts whose credits are low.

use overnight_domain::faults::codes;
use overnight_domain::ids::AccountId;
use overnight_domain::money::Credits;
use overnight_domain::webhooks::{Event, EventKind, Subject};
use overnight_store::StoreError;
use overnight_store::idempotency_keys::IdempotencyKey;
use overnight_store::identity::accounts::Account;
use overnight_wire::native::events::write_event;

use crate::errors::AppError;
use crate::{Services, accounts, idempotency, input};
pub use overnight_store::identity::accounts::LowCredits;
use overnight_store::low_credits::{self, LowCreditsEvent};

/// The shortest time between two events to one account, however often its credits cross the threshold.
const EVENTS_APART_MS: i64 = 60 * 60 * 1_000;

/// Sets the threshold and address of an account's low-credits notice; `None` turns it off. If less is already available, the notice is sent
/// soon. Fails with [`AppError::Invalid`] if the account is closed, the threshold is not above 0, or a request could not have the address
/// as its `webhook`.
pub async fn set(
    services: &Services,
    id: AccountId,
    low_credits: Option<LowCredits>,
) -> Result<Account, AppError> {
    set_repeatably(services, id, low_credits, None).await.map(|(account, _)| account)
}

/// Like [`set`], once for all calls of the account with the same idempotency key. Also returns whether it was set before.
pub(crate) async fn set_repeatably(
    services: &Services,
    id: AccountId,
    low_credits: Option<LowCredits>,
    key: Option<IdempotencyKey>,
) -> Result<(Account, bool), AppError> {
    if let Some(LowCredits { threshold, webhook }) = &low_credits {
        if *threshold <= Credits::ZERO {
            return Err(AppError::invalid("threshold", codes::OUT_OF_RANGE, "must be above 0"));
        }
        input::check_address(webhook, &services.config().webhooks)?;
    }
    let account = accounts::get(services, id).await?.key;
    let (now, once) = (services.clock.now(), idempotency::once(key, &id));
    let set = low_credits::set(&services.store, account, low_credits, now, once).await?;
    Ok((accounts::get(services, id).await?, idempotency::is_repeat(set)?))
}

/// Creates events for accounts whose credits are low and that have no event yet. Has no effect if credits are free.
pub async fn notify_due(services: &Services, now: i64) -> Result<(), StoreError> {
    if !services.config().billing.enabled {
        return Ok(());
    }
    for account in low_credits::list_due(&services.store, now, EVENTS_APART_MS).await? {
        let id = services.ids.next(now);
        let write = move |credits| {
            let (kind, subject) = (EventKind::AccountLowCredits, Subject::Credits(credits));
            let mut payload = Vec::with_capacity(384);
            write_event(&Event { id, kind, created_at: now, subject }, &mut payload);
            payload.into()
        };
        let event = LowCreditsEvent { id, account, apart_ms: EVENTS_APART_MS, now };
        if low_credits::notify(&services.store, event, write).await? {
            metrics::counter!("overnight_low_credits_events_total").increment(1);
        }
    }
    Ok(())
}
