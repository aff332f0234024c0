//! What accounts have: the sum of their ledger entries, and what their live requests hold of it.

use std::collections::{BTreeMap, BTreeSet};

use crate::store::StoreError;
use crate::store::database::{Dialect, Row, Tx, Value, statements};

/// A balance and what is held of it, or by how much they move; in nano-credits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::store) struct Balance {
    pub(in crate::store) balance: i64,
    pub(in crate::store) held: i64,
}

impl Balance {
    pub(in crate::store) const fn add(&mut self, by: Self) {
        self.balance = self.balance.saturating_add(by.balance);
        self.held = self.held.saturating_add(by.held);
    }

    /// What new requests may hold; negative where a payment was taken back.
    pub(in crate::store) const fn available(self) -> i64 {
        self.balance.saturating_sub(self.held)
    }
}

statements! {
    /// Everybody locks in this order.
    LOCK over [Integer] = {
        sqlite: "SELECT seq, balance, held FROM accounts WHERE seq = ?1",
        postgres: "SELECT seq, balance, held FROM accounts WHERE seq = ANY ($1::bigint[]) ORDER BY seq FOR UPDATE",
    };
    APPLY over [Integer, Integer, Integer] = {
        sqlite: "UPDATE accounts SET balance = balance + ?2, held = held + ?3 WHERE seq = ?1",
        postgres: "UPDATE accounts SET balance = balance + v.balance_by, held = held + v.held_by
            FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS v(account, balance_by, held_by)
            WHERE accounts.seq = v.account",
    };
}

/// What these accounts have; nobody else moves it until the transaction ends.
pub(in crate::store) async fn lock(
    accounts: &BTreeSet<i64>,
    tx: &mut Tx<'_>,
) -> Result<BTreeMap<i64, Balance>, StoreError> {
    let accounts = accounts.iter().map(|account| Value::from(*account)).collect();
    let rows = tx.fetch(LOCK.over([], accounts)).await?;
    rows.iter().map(|row| Ok((row.get("seq")?, read(row)?))).collect()
}

/// The same for those whose balances need not be known.
pub(in crate::store) async fn lock_only(
    accounts: impl Iterator<Item = i64>,
    tx: &mut Tx<'_>,
) -> Result<(), StoreError> {
    if tx.dialect() == Dialect::Postgres {
        lock(&accounts.collect(), tx).await?;
    }
    Ok(())
}

/// Moves each balance, one row an account.
pub(in crate::store) async fn apply(
    shifts: &BTreeMap<i64, Balance>,
    tx: &mut Tx<'_>,
) -> Result<(), StoreError> {
    let values = shifts.iter().flat_map(|(account, by)| [*account, by.balance, by.held].map(Value::from));
    let touched = tx.execute(APPLY.over([], values.collect())).await?;
    if touched != shifts.len() as u64 {
        return Err(StoreError::Damaged("the account of a balance change"));
    }
    Ok(())
}

/// Reads `balance, held`.
fn read(row: &Row) -> Result<Balance, StoreError> {
    Ok(Balance { balance: row.get("balance")?, held: row.get("held")? })
}
