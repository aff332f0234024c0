//! Totals of accounts: the sum of their ledger entries, the holds and number of their live requests, and their stored bytes.

use std::collections::{BTreeMap, BTreeSet};

use overnight_domain::quotas::{Quota, Quotas};
use overnight_domain::scheduler::AccountKey;

use crate::StoreError;
use crate::database::{Dialect, Row, Tx, Value, statements};

/// Bytes of a request's or batch's rows in addition to the content from client and engine.
pub(crate) const ROW_BYTES: i64 = 512;

/// Bytes of a webhook: its URL with the request or batch and with its event, and the event itself.
pub(crate) fn webhook_bytes(webhook: Option<&str>) -> i64 {
    webhook.map_or(0, |url| 1_024 + 2 * url.len() as i64)
}

/// An account's totals, or their changes. Money is in nano-credits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Totals {
    pub(crate) balance: i64,
    pub(crate) held: i64,
    pub(crate) live_requests: i64,
    pub(crate) stored_bytes: i64,
}

impl Totals {
    pub(crate) const fn add(&mut self, by: Self) {
        self.balance = self.balance.saturating_add(by.balance);
        self.held = self.held.saturating_add(by.held);
        self.live_requests = self.live_requests.saturating_add(by.live_requests);
        self.stored_bytes = self.stored_bytes.saturating_add(by.stored_bytes);
    }

    /// Credits for new requests; negative if a payment was taken back.
    pub(crate) const fn available(self) -> i64 {
        self.balance.saturating_sub(self.held)
    }
}

statements! {
    /// Every node locks in this order.
    LOCK over [Integer] = {
        sqlite: "SELECT seq, balance, held, live_requests, stored_bytes, suspended_at, closed_at,
                   live_requests_quota, stored_bytes_quota, requests_per_second_quota, tokens_per_day_quota
            FROM accounts WHERE seq = ?1",
        postgres: "SELECT seq, balance, held, live_requests, stored_bytes, suspended_at, closed_at,
                   live_requests_quota, stored_bytes_quota, requests_per_second_quota, tokens_per_day_quota
            FROM accounts WHERE seq = ANY ($1::bigint[]) ORDER BY seq FOR UPDATE",
    };
    /// Notes low credits in the statement that changes them: immediately, without a read, and once until enough is available again.
    APPLY over [Integer, Integer, Integer, Integer, Integer] = {
        sqlite: "UPDATE accounts SET balance = balance + ?2, held = held + ?3, live_requests = live_requests + ?4,
                   stored_bytes = stored_bytes + ?5,
                   low_credits_notified = CASE WHEN balance + ?2 - held - ?3 < low_credits_threshold
                       THEN coalesce(low_credits_notified, 0 /* to be told */) END
            WHERE seq = ?1",
        postgres: "UPDATE accounts SET balance = balance + v.balance_by, held = held + v.held_by,
                   live_requests = live_requests + v.live_by, stored_bytes = stored_bytes + v.stored_by,
                   low_credits_notified = CASE WHEN balance + v.balance_by - held - v.held_by < low_credits_threshold
                       THEN coalesce(low_credits_notified, 0 /* to be told */) END
            FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
                AS v(account, balance_by, held_by, live_by, stored_by)
            WHERE accounts.seq = v.account",
    };
}

/// Locked against changes, suspension and closing until the transaction ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LockedAccount {
    pub(crate) totals: Totals,
    pub(crate) quotas: Quotas,
    /// Its keys and members may make no changes.
    pub(crate) is_suspended: bool,
    /// It accepts no more work.
    pub(crate) is_closed: bool,
}

pub(crate) async fn lock(
    accounts: &BTreeSet<i64>,
    tx: &mut Tx<'_>,
) -> Result<BTreeMap<i64, LockedAccount>, StoreError> {
    let accounts = accounts.iter().map(|account| Value::from(*account)).collect();
    let rows = tx.fetch(LOCK.over([], accounts)).await?;
    rows.iter().map(|row| Ok((row.get("seq")?, read_locked(row)?))).collect()
}

/// Locks an account to create something in it other than requests, batches and files. Fails with [`StoreError::AccountClosed`] if it
/// accepts no more.
pub(crate) async fn lock_open(account: AccountKey, tx: &mut Tx<'_>) -> Result<(), StoreError> {
    match lock(&[account.0].into(), tx).await?.get(&account.0) {
        Some(LockedAccount { is_closed: true, .. }) => Err(StoreError::AccountClosed),
        _ => Ok(()),
    }
}

/// For accounts whose state does not matter.
pub(crate) async fn lock_only(
    accounts: impl Iterator<Item = i64>,
    tx: &mut Tx<'_>,
) -> Result<(), StoreError> {
    if tx.dialect() == Dialect::Postgres {
        lock(&accounts.collect(), tx).await?;
    }
    Ok(())
}

pub(crate) async fn apply(shifts: &BTreeMap<i64, Totals>, tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let values = shifts.iter().flat_map(|(account, by)| {
        [*account, by.balance, by.held, by.live_requests, by.stored_bytes].map(Value::from)
    });
    let touched = tx.execute(APPLY.over([], values.collect())).await?;
    if touched != shifts.len() as u64 {
        return Err(StoreError::Damaged("the account of a change of its totals"));
    }
    Ok(())
}

fn read_locked(row: &Row) -> Result<LockedAccount, StoreError> {
    Ok(LockedAccount {
        totals: read(row)?,
        quotas: read_quotas(row)?,
        is_suspended: row.get::<Option<i64>>("suspended_at")?.is_some(),
        is_closed: row.get::<Option<i64>>("closed_at")?.is_some(),
    })
}

/// Reads `balance, held, live_requests, stored_bytes`.
fn read(row: &Row) -> Result<Totals, StoreError> {
    Ok(Totals {
        balance: row.get("balance")?,
        held: row.get("held")?,
        live_requests: row.get("live_requests")?,
        stored_bytes: row.get("stored_bytes")?,
    })
}

/// Reads `live_requests_quota, stored_bytes_quota, requests_per_second_quota, tokens_per_day_quota`.
pub(crate) fn read_quotas(row: &Row) -> Result<Quotas, StoreError> {
    Ok(Quotas::default()
        .with(Quota::LiveRequests, row.get("live_requests_quota")?)
        .with(Quota::StoredBytes, row.get("stored_bytes_quota")?)
        .with(Quota::RequestsPerSecond, row.get("requests_per_second_quota")?)
        .with(Quota::TokensPerDay, row.get("tokens_per_day_quota")?))
}
