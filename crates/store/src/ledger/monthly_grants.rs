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
/// the same idempotency key.
pub async fn set(
    store: &Store,
    account: AccountKey,
    amount: Option<Credits>,
    now: i64,
    once: Option<Once>,
) -> Result<Guarded<()>, StoreError> {
    let set = async move |tx: &mut Tx<'_>| {
        totals::lock_open(account, tx).await?;
        let nanos = amount.map(Credits::nanos);
        if tx.execute(SET.bind(nanos).bind(account).bind(nanos)).await? == 0 {
            return Ok(());
        }
        let change = Change::of_account(AuditAction::CreditsMonthly, account, now);
        let amount = amount.map(|amount| amount.to_string());
        audit_log::note_in(change.with(json!({"amount": amount})), tx).await
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
    let granting = async move |tx: &mut Tx<'_>| {
        let Month { number, name } = &month;
        let rows = tx.fetch(TAKE.bind(*number).bind(account).bind(*number)).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let id: AccountId = row.get("id")?;
        let (kind, amount) = (EntryKind::Grant, row.get("monthly_credits")?);
        let source = format!("{id} monthly:{name}");
        post_in(&NewEntry { account, kind, amount, source, now }, tx).await.map(Some)
    };
    store.transaction(granting).await
}
