//! When to ask the provider whether an order was paid, if its notice never arrived.

use overnight_domain::ids::PaymentId;
use overnight_domain::scheduler::AccountKey;

use crate::database::{Tx, statements};
use crate::ledger::payments::{self, Payment};
use crate::{Store, StoreError};

/// Minimum time between two questions for an order, and between two for orders of one account.
const SPACING_MS: i64 = 10 * 60_000;
/// Maximum time between two questions for an order, unless its account has very many.
const INTERVAL_MS_MAX: i64 = 12 * 60 * 60_000;
/// Orders are asked for up to this age. A page can be paid for a day; a bank transfer arrives within three weeks.
const AGE_MS_MAX: i64 = 30 * 24 * 60 * 60_000;

statements! {
    NOTE_SESSION = "UPDATE payments SET session = ?, check_at = ? WHERE id = ?";
    DUE = "SELECT id, account, provider, credits, amount, currency, created_at, session, paid_at, reference, check_at
        FROM payments WHERE check_at <= ? ORDER BY check_at LIMIT ?";
    ASKED_FOR = "SELECT account FROM payments WHERE account = ? AND check_at IS NOT NULL LIMIT 1000";
    PUT_OFF = "UPDATE payments SET check_at = ? WHERE id = ? AND check_at = ?";
    STOP = "UPDATE payments SET check_at = NULL WHERE id = ?";
}

/// Stores the provider's page of an order, and schedules the first question.
pub async fn note_session(
    store: &Store,
    account: AccountKey,
    id: PaymentId,
    session: &str,
    now: i64,
) -> Result<(), StoreError> {
    let session = session.to_owned();
    let note = async move |tx: &mut Tx<'_>| {
        let check_at = now + SPACING_MS * (1 + count(account, tx).await?);
        tx.execute(NOTE_SESSION.bind(session.as_str()).bind(check_at).bind(id)).await.map(drop)
    };
    store.transaction(note).await
}

/// Takes up to `limit` orders due at `now`, longest due first, and schedules their next question. Each is taken by one node.
pub async fn take_due(store: &Store, now: i64, limit: u32) -> Result<Vec<Payment>, StoreError> {
    if store.readers().fetch_optional(DUE.bind(now).bind(1i64)).await?.is_none() {
        return Ok(Vec::new());
    }
    let take = async move |tx: &mut Tx<'_>| {
        let mut taken = Vec::new();
        for row in tx.fetch(DUE.bind(now).bind(i64::from(limit))).await? {
            let (order, due_at): (Payment, i64) = (payments::read(&row)?, row.get("check_at")?);
            let count = count(order.account, tx).await?;
            let next = interval_ms(now - order.created_at, count).map(|interval| now + interval);
            if tx.execute(PUT_OFF.bind(next).bind(order.id).bind(due_at)).await? > 0 {
                taken.push(order);
            }
        }
        Ok(taken)
    };
    store.transaction(take).await
}

pub async fn stop(store: &Store, id: PaymentId) -> Result<(), StoreError> {
    let stop = STOP.bind(id);
    store.transaction(async move |tx| tx.execute(stop).await.map(drop)).await
}

/// Orders of the account that are asked for; 1,000 at most.
async fn count(account: AccountKey, tx: &mut Tx<'_>) -> Result<i64, StoreError> {
    Ok(tx.fetch(ASKED_FOR.bind(account)).await?.len() as i64)
}

/// How long until the next question for an order, in milliseconds: a quarter of its age, so that a paid order waits no longer than that. An
/// account's questions do not grow with its number of orders.
fn interval_ms(age_ms: i64, orders_count: i64) -> Option<i64> {
    let interval = (age_ms / 4).clamp(SPACING_MS, INTERVAL_MS_MAX).max(SPACING_MS * orders_count);
    (age_ms < AGE_MS_MAX).then_some(interval)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE_MS: i64 = 60_000;
    const HOUR_MS: i64 = 60 * MINUTE_MS;

    #[test]
    fn an_order_is_asked_for_less_often_as_it_ages_and_not_after_thirty_days() {
        assert_eq!(interval_ms(0, 1), Some(10 * MINUTE_MS));
        assert_eq!(interval_ms(8 * HOUR_MS, 1), Some(2 * HOUR_MS));
        assert_eq!(interval_ms(29 * 24 * HOUR_MS, 1), Some(12 * HOUR_MS));
        assert_eq!(interval_ms(30 * 24 * HOUR_MS, 1), None);
    }

    #[test]
    fn an_account_with_many_orders_asks_no_more_often_than_one_with_few() {
        assert_eq!(interval_ms(0, 6), Some(HOUR_MS));
        assert_eq!(interval_ms(8 * HOUR_MS, 6), Some(2 * HOUR_MS));
        assert_eq!(interval_ms(8 * HOUR_MS, 600), Some(100 * HOUR_MS));
    }
}
