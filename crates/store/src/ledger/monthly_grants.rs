//! Monthly grants to accounts. The account's row has the month of the last grant, and the source of each names its month, so that a month
//! has one grant whichever nodes run and whenever they stop.

use overnight_domain::audit_log::AuditAction;
use overnight_domain::ids::AccountId;
use overnight_domain::money::{Credits, EntryKind};
use overnight_domain::scheduler::AccountKey;
use serde_json::json;

use crate::audit_log::{self, Change};
use crate::database::{Row, Tx, statements};
use crate::idempotency_keys::{Guarded, Once, do_once};
use crate::ledger::{NewEntry, Posting, post_in, totals};
use crate::{Store, StoreError};

statements! {
    SET = "UPDATE accounts SET monthly_credits = ? WHERE seq = ? AND monthly_credits IS DISTINCT FROM ?";
    BALANCE = "SELECT balance FROM accounts WHERE seq = ?";
    LIST_DUE = "SELECT seq, id FROM accounts
        WHERE monthly_credits IS NOT NULL AND coalesce(monthly_credits_month, -1) < ? AND suspended_at IS NULL ORDER BY seq";
    /// A second node finds the month taken.
    TAKE = "UPDATE accounts SET monthly_credits_month = ?
        WHERE seq = ? AND monthly_credits IS NOT NULL AND coalesce(monthly_credits_month, -1) < ? AND suspended_at IS NULL
        RETURNING id, monthly_credits";
}

/// In UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Month {
    /// Months since January 1970.
    pub number: i64,
    /// Such as 2026-11.
    pub name: String,
}

/// Sets an account's monthly grant; `None` for no grant. A repeat has no effect, and a closed account is refused. Once for all calls with
/// the same idempotency key. Also grants the credits of `month`, unless they were granted before; returns whether it did.
pub async fn set(
    store: &Store,
    account: AccountKey,
    amount: Option<Credits>,
    month: Option<Month>,
    now: i64,
    once: Option<Once>,
) -> Result<Guarded<bool>, StoreError> {
    let set = async move |tx: &mut Tx<'_>| {
        totals::lock_open(account, tx).await?;
        let nanos = amount.map(Credits::nanos);
        if tx.execute(SET.bind(nanos).bind(account).bind(nanos)).await? == 0 {
            return Ok(false);
        }
        let change = Change::of_account(AuditAction::CreditsMonthly, account, now);
        let details = json!({"amount": amount.map(|amount| amount.to_string())});
        audit_log::note_in(change.with(details), tx).await?;
        match month {
            Some(month) if has_room_in(account, amount, tx).await? => {
                Ok(grant_in(account, &month, now, tx).await? == Some(Posting::Posted))
            }
            _ => Ok(false),
        }
    };
    do_once(store, account, once, now, set).await
}

/// Accounts due for this month's grant that are not suspended.
pub async fn list_due(store: &Store, month: &Month) -> Result<Vec<(AccountKey, AccountId)>, StoreError> {
    let rows = store.readers().fetch_all(LIST_DUE.bind(month.number)).await?;
    rows.iter().map(|row: &Row| Ok((row.get("seq")?, row.get("id")?))).collect()
}

/// Grants a month's credits, at `now` in milliseconds; `None` if they were granted before, or the account has no grant.
pub async fn grant(
    store: &Store,
    account: AccountKey,
    month: Month,
    now: i64,
) -> Result<Option<Posting>, StoreError> {
    store.transaction(async move |tx| grant_in(account, &month, now, tx).await).await
}

/// The transaction is undone if the posting is refused.
async fn grant_in(
    account: AccountKey,
    month: &Month,
    now: i64,
    tx: &mut Tx<'_>,
) -> Result<Option<Posting>, StoreError> {
    let Month { number, name } = month;
    let rows = tx.fetch(TAKE.bind(*number).bind(account).bind(*number)).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let id: AccountId = row.get("id")?;
    let (kind, amount) = (EntryKind::Grant, row.get("monthly_credits")?);
    let source = format!("{id} monthly:{name}");
    post_in(&NewEntry { account, kind, amount, source, now }, tx).await.map(Some)
}

/// Whether an account, which is locked, may have so much more. If not, the amount is set, and the worker logs the reason each time.
async fn has_room_in(
    account: AccountKey,
    amount: Option<Credits>,
    tx: &mut Tx<'_>,
) -> Result<bool, StoreError> {
    let rows = tx.fetch(BALANCE.bind(account)).await?;
    let balance = rows.first().map(|row| row.get::<Credits>("balance")).transpose()?;
    let sum = balance.zip(amount).and_then(|(balance, amount)| balance.checked_add(amount));
    Ok(sum.is_some_and(|sum| sum <= Credits::MAX))
}
