//! Payments: credits are ordered, paid at the provider, and posted when the provider tells of it.

mod checks;
mod notices;

use overnight_domain::faults::codes;
use overnight_domain::ids::{AccountId, PaymentId};
use overnight_domain::money::Credits;

pub use self::checks::{check, check_unnoticed};
pub use self::notices::{Heard, hear, unsigned};
use super::errors::AppError;
use super::idempotency::{self, FormKey};
use super::{Services, accounts};
use crate::payment::{Order, PaymentError};
use crate::store::idempotency_keys::Guarded;
pub use crate::store::ledger::payments::Payment;
use crate::store::ledger::{payment_checks, payments};
use crate::store::lists::ListPage;

/// Where the API shows those who paid that they did.
pub const RETURN_PATH: &str = "/payments/thanks";

#[derive(Debug, Clone)]
pub struct TopUp {
    pub payment: PaymentId,
    /// Where it is paid. Whoever knows it can pay.
    pub url: String,
}

/// A page of an account's orders behind the one in row `before`, the newest first, `limit` at most.
pub async fn list(
    services: &Services,
    account: AccountId,
    before: Option<i64>,
    limit: u32,
) -> Result<ListPage<Payment>, AppError> {
    let account = accounts::get(services, account).await?;
    Ok(payments::list(&services.store, account.key, before, limit).await?)
}

/// Orders credits for an account: what this returns is where to pay. They are posted, and the account's payments
/// activated, when the provider tells that it was paid. What a form sends is one order for all of its repeats.
///
/// # Errors
///
/// [`AppError::NotFound`] where there is no such account; [`AppError::Invalid`] for an amount that cannot be paid;
/// [`AppError::Payment`] or [`AppError::Unavailable`] for what the provider says.
pub async fn top_up(
    services: &Services,
    account: AccountId,
    credits: Credits,
    form: Option<FormKey>,
) -> Result<TopUp, AppError> {
    let account = accounts::get(services, account).await?;
    if credits <= Credits::ZERO {
        return Err(AppError::invalid("amount", codes::OUT_OF_RANGE, "must be more than 0 credits"));
    }
    if account.balance.checked_add(credits).is_none_or(|sum| sum > Credits::MAX) {
        let message = format!("is too much: the account has {}, and may have a billion", account.balance);
        return Err(AppError::invalid("amount", codes::OUT_OF_RANGE, &message));
    }
    let billing = &services.config().billing;
    let amount = billing.minor_units(credits);
    let amount = amount.map_err(|error| {
        AppError::invalid("amount", codes::OUT_OF_RANGE, &format!("cannot be paid: {error}"))
    })?;
    let now = services.clock.now();
    let mut order = Order {
        id: services.ids.next(now),
        account: account.id,
        amount,
        currency: billing.currency,
        description: format!("{credits} Overnight credits"),
        return_url: services.config().public_address(RETURN_PATH),
    };
    let payment = Payment {
        id: order.id,
        account: account.key,
        provider: services.payments.name().to_owned(),
        credits,
        amount,
        currency: order.currency.as_str().to_owned(),
        created_at: now,
        session: None,
        paid_at: None,
        reference: None,
    };
    services.payments.check().map_err(PaymentError::from)?;
    let once = form.map(|form| form.once(&order.id));
    if let Guarded::Recalled(recalled) = payments::insert_once(&services.store, &payment, once).await? {
        // The provider knows the order, and answers with the same page.
        order.id = idempotency::made_before(recalled)?;
    }
    let checkout = services.payments.open_checkout(&order).await?;
    payment_checks::note_session(
        &services.store,
        account.key,
        order.id,
        &checkout.session,
        services.clock.now(),
    )
    .await?;
    Ok(TopUp { payment: order.id, url: checkout.url })
}
