//! Credits granted to accounts each calendar month.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use overnight_domain::faults::codes;
use overnight_domain::ids::AccountId;
use overnight_domain::money::Credits;
use overnight_store::StoreError;
use overnight_store::idempotency_keys::{Guarded, IdempotencyKey};
use overnight_store::identity::accounts::Account;
use overnight_store::ledger::Posting;
use overnight_store::ledger::monthly_grants::{self, Month};

use crate::errors::AppError;
use crate::{Services, accounts, idempotency};

/// Sets an account's monthly grant (UTC); `None` ends it. It starts this month unless the month was already granted. Fails with
/// [`AppError::Invalid`] if the account is closed or the amount is not above 0.
pub async fn set(services: &Services, id: AccountId, amount: Option<Credits>) -> Result<Account, AppError> {
    set_repeatably(services, id, amount, None).await.map(|(account, _)| account)
}

/// Like [`set`], once for all calls of the account with the same idempotency key. Also returns whether it was set before.
pub(crate) async fn set_repeatably(
    services: &Services,
    id: AccountId,
    amount: Option<Credits>,
    key: Option<IdempotencyKey>,
) -> Result<(Account, bool), AppError> {
    if amount.is_some_and(|amount| amount <= Credits::ZERO) {
        return Err(AppError::invalid("amount", codes::OUT_OF_RANGE, "must be above 0, or none"));
    }
    let account = accounts::get(services, id).await?.key;
    let (now, once) = (services.clock.now(), idempotency::once(key, &id));
    // The month may end before the worker's next run.
    let month = month_of(now).filter(|_| services.config().billing.enabled);
    let set = monthly_grants::set(&services.store, account, amount, month, now, once).await?;
    if matches!(set, Guarded::Done(true)) {
        count_grant();
    }
    Ok((accounts::get(services, id).await?, idempotency::is_repeat(set)?))
}

/// Posts the grants that are due in the month of `now`, in milliseconds. Has no effect if credits are free.
pub async fn grant_due(services: &Services, now: i64) -> Result<(), StoreError> {
    if !services.config().billing.enabled {
        return Ok(());
    }
    let Some(month) = month_of(now) else { return Ok(()) };
    for (account, id) in monthly_grants::list_due(&services.store, &month).await? {
        match monthly_grants::grant(&services.store, account, month.clone(), now).await? {
            Some(Posting::Posted) => count_grant(),
            Some(Posting::Refused) => {
                tracing::warn!(
                    account = %id,
                    month = month.name,
                    "monthly credits not granted: the account would have more than a billion"
                );
            }
            Some(Posting::PostedBefore) | None => {}
        }
    }
    Ok(())
}

fn count_grant() {
    metrics::counter!("overnight_monthly_grants_total").increment(1);
}

/// `None` for a time outside the calendar.
fn month_of(now: i64) -> Option<Month> {
    let date = Timestamp::from_millisecond(now).ok()?.to_zoned(TimeZone::UTC).date();
    let number = (i64::from(date.year()) - 1_970) * 12 + i64::from(date.month()) - 1;
    Some(Month { number, name: format!("{:04}-{:02}", date.year(), date.month()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_are_those_of_the_calendar_in_utc() {
        for (time, number, name) in [
            ("1970-01-01T00:00:00Z", 0, "1970-01"),
            ("2026-11-30T23:59:59.999Z", 682, "2026-11"),
            ("2026-12-01T00:00:00Z", 683, "2026-12"),
            ("2027-01-01T00:30:00+01:00", 683, "2026-12"),
            ("2027-01-01T00:00:00Z", 684, "2027-01"),
        ] {
            let now = time.parse::<Timestamp>().unwrap().as_millisecond();
            assert_eq!(month_of(now), Some(Month { number, name: name.to_owned() }), "{time}");
        }
        assert_eq!(month_of(i64::MAX), None);
    }
}
