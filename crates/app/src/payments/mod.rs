//! Payments: credits are ordered, paid at the provider, and posted when the provider reports the payment.

mod checks;
mod notices;

use overnight_domain::faults::codes;
use overnight_domain::ids::{AccountId, PaymentId};
use overnight_domain::money::Credits;

pub use self::checks::{check, check_unnoticed};
pub use self::notices::{Heard, hear, unsigned};
use overnight_outgoing::payment::{Order, PaymentError};
use overnight_store::idempotency_keys::Guarded;

use super::errors::AppError;
use super::idempotency::{self, FormKey};
use super::{Services, accounts};
pub use overnight_store::ledger::payments::Payment;
use overnight_store::ledger::{payment_checks, payments};
use overnight_store::lists::ListPage;

/// The page to which customers return after paying.
pub const RETURN_PATH: &str = "/payments/thanks";

#[derive(Debug, Clone)]
pub struct TopUp {
    pub payment: PaymentId,
    /// The payment page. Anyone with the address can pay.
    pub url: String,
}

/// A page of at most `limit` orders of an account older than row `before`, newest first.
pub async fn list(
    services: &Services,
    account: AccountId,
    before: Option<i64>,
    limit: u32,
) -> Result<ListPage<Payment>, AppError> {
    let account = accounts::get(services, account).await?;
    Ok(payments::list(&services.store, account.key, before, limit).await?)
}

/// Orders credits, and returns the address of the payment page. The credits are posted, and the account's payments activated, when the
/// provider reports the payment. Repeats of a form share one order. Fails with [`AppError::Invalid`] if the amount cannot be paid, and with
/// [`AppError::Payment`] or [`AppError::Unavailable`] if the provider fails.
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
        // The provider knows the order, and returns the same page.
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
