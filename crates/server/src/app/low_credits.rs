//! Telling accounts that their credits are low.

use overnight_domain::faults::codes;
use overnight_domain::ids::AccountId;
use overnight_domain::money::Credits;
use overnight_domain::webhooks::{Event, EventKind, Subject};
use overnight_wire::native::events::write_event;

use super::errors::AppError;
use super::{Services, accounts, idempotency, input};
use crate::store::StoreError;
use crate::store::idempotency_keys::IdempotencyKey;
use crate::store::identity::accounts::Account;
pub use crate::store::identity::accounts::LowCredits;
use crate::store::low_credits::{self, LowCreditsEvent};

/// An account is told once in this time at most, however often its credits pass the threshold.
const EVENTS_APART_MS: i64 = 60 * 60 * 1_000;

/// Sets when and where an account is told that its credits are low; `None` for never. Where less is available already, it is told soon.
///
/// # Errors
///
/// [`AppError::NotFound`] where there is no such account, and [`AppError::Invalid`] where it is closed, for a threshold that is not above 0, or for an
/// address that could not be the `webhook` of a request.
pub async fn set(
    services: &Services,
    id: AccountId,
    low_credits: Option<LowCredits>,
) -> Result<Account, AppError> {
    set_repeatably(services, id, low_credits, None).await.map(|(account, _)| account)
}

/// As [`set`], once for all calls of the account with the same idempotency key; and whether it was set before.
///
/// # Errors
///
/// As [`set`], and [`AppError::IdempotencyKeyReused`].
pub(super) async fn set_repeatably(
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

/// Makes the events of accounts whose credits are low and that were not told yet. Where credits cost nothing, none are made.
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
