//! Asks the provider for orders whose notice did not arrive.

use overnight_outgoing::payment::SessionState;
use overnight_store::StoreError;
use overnight_store::ledger::payment_checks;

use super::Payment;
use super::notices::{Heard, post_payment};
use crate::Services;
use crate::errors::AppError;

/// The maximum orders per run, far fewer than the provider's rate limit.
const CHECKS_MAX: u32 = 60;

enum Checked {
    Open,
    Closed,
    Paid(Heard),
}

/// Asks the provider whether an order was paid, and if so posts it. Fails with [`AppError::Payment`] or [`AppError::Unavailable`] if the
/// provider does.
pub async fn check(services: &Services, order: &Payment) -> Result<Heard, AppError> {
    match ask(services, order).await? {
        Checked::Open | Checked::Closed => Ok(Heard::Nothing),
        Checked::Paid(heard) => Ok(heard),
    }
}

/// Checks some orders that have been unpaid for minutes, hours or days, except those of a provider that is no longer configured. If the
/// provider is unreachable, the remaining orders are checked when they are next due.
pub async fn check_unnoticed(services: &Services, now: i64) -> Result<(), StoreError> {
    for order in payment_checks::take_due(&services.store, now, CHECKS_MAX).await? {
        // The configured provider does not know the orders of its predecessor.
        if order.provider != services.payments.name() {
            continue;
        }
        match ask(services, &order).await {
            Ok(Checked::Open) => count("open"),
            Ok(Checked::Closed) => {
                payment_checks::stop(&services.store, order.id).await?;
                count("closed");
            }
            Ok(Checked::Paid(heard)) => note_paid(services, &order, heard).await?,
            Err(error) => {
                tracing::warn!(id = %order.id, error = error.in_full(), "the provider was not asked whether an order was paid");
                count("failed");
                if matches!(error, AppError::Unavailable(_)) {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}

async fn ask(services: &Services, order: &Payment) -> Result<Checked, AppError> {
    let Some(session) = order.session.as_deref().filter(|_| order.paid_at.is_none()) else {
        return Ok(Checked::Closed);
    };
    match services.payments.find_session(session).await? {
        SessionState::Open => Ok(Checked::Open),
        SessionState::Closed => Ok(Checked::Closed),
        SessionState::Paid(receipt) => Ok(Checked::Paid(post_payment(services, &receipt).await?)),
    }
}

/// Logs a payment whose notice did not arrive.
async fn note_paid(services: &Services, order: &Payment, heard: Heard) -> Result<(), StoreError> {
    let id = order.id;
    match heard {
        Heard::Posted => {
            let say = "an order was paid, is posted now, and no notice of it came: check the webhook endpoint at the provider";
            tracing::warn!(%id, "{say}");
            count("posted");
        }
        Heard::PostedBefore => count("posted_before"),
        Heard::Nothing | Heard::Doubtful(_) => {
            let why =
                if let Heard::Doubtful(why) = heard { why } else { "its page paid no order of this service" };
            tracing::error!(%id, why, "an order was paid and is not posted: look at it at the provider");
            payment_checks::stop(&services.store, id).await?;
            count("doubtful");
        }
    }
    Ok(())
}

fn count(outcome: &'static str) {
    metrics::counter!("overnight_payment_checks_total", "outcome" => outcome).increment(1);
}
