//! What accounts have: the sum of their ledger entries, and what their live requests hold of it.

use std::collections::{BTreeMap, BTreeSet};

use super::StoreError;
use super::sql::{Dialect, Kind, Row, RowsStatement, Tx, Value, chunks};

/// A balance and what is held of it, or by how much they move; in nano-credits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Balance {
    pub(super) balance: i64,
    pub(super) held: i64,
}

impl Balance {
    pub(super) const fn add(&mut self, by: Self) {
        self.balance = self.balance.saturating_add(by.balance);
        self.held = self.held.saturating_add(by.held);
    }

    /// What new requests may hold; negative where a payment was taken back.
    pub(super) const fn available(self) -> i64 {
        self.balance.saturating_sub(self.held)
    }
}

pub(super) static READ: RowsStatement =
    RowsStatement::new("SELECT seq, balance, held FROM accounts WHERE seq IN (", &[Kind::Integer], ")");

/// Everybody locks in this order.
pub(super) static LOCK_ON_POSTGRES: RowsStatement = RowsStatement::new(
    "SELECT seq, balance, held FROM accounts WHERE seq IN (",
    &[Kind::Integer],
    ") ORDER BY seq FOR UPDATE",
);

pub(super) static APPLY: RowsStatement = RowsStatement::new(
    "WITH v(account, balance_by, held_by) AS (",
    &[Kind::Integer; 3],
    ") UPDATE accounts SET balance = balance + v.balance_by, held = held + v.held_by
       FROM v WHERE accounts.seq = v.account",
);

/// What these accounts have; nobody else moves it until the transaction ends.
pub(super) async fn lock(
    accounts: &BTreeSet<i64>,
    tx: &mut Tx<'_>,
) -> Result<BTreeMap<i64, Balance>, StoreError> {
    let statement = match tx.dialect() {
        Dialect::Sqlite => &READ,
        Dialect::Postgres => &LOCK_ON_POSTGRES,
    };
    let accounts: Vec<i64> = accounts.iter().copied().collect();
    let mut balances = BTreeMap::new();
    for chunk in chunks(&accounts) {
        let keys = chunk.iter().map(|account| Value::from(*account)).collect();
        for row in tx.fetch(statement.over(tx.dialect(), [], keys, [])).await? {
            balances.insert(row.get(0)?, read(&row, 1)?);
        }
    }
    Ok(balances)
}

/// The same for those whose balances need not be known.
pub(super) async fn lock_only(
    accounts: impl Iterator<Item = i64>,
    tx: &mut Tx<'_>,
) -> Result<(), StoreError> {
    if tx.dialect() == Dialect::Postgres {
        lock(&accounts.collect(), tx).await?;
    }
    Ok(())
}

/// Moves each balance, one row an account.
pub(super) async fn apply(shifts: &BTreeMap<i64, Balance>, tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let shifts: Vec<(i64, Balance)> = shifts.iter().map(|(account, by)| (*account, *by)).collect();
    for chunk in chunks(&shifts) {
        let values = chunk.iter().flat_map(|(account, by)| [*account, by.balance, by.held].map(Value::from));
        let touched = tx.execute(APPLY.over(tx.dialect(), [], values.collect(), [])).await?;
        if touched != chunk.len() as u64 {
            return Err(StoreError::Damaged("an account whose money moved"));
        }
    }
    Ok(())
}

/// Reads `balance, held`.
pub(super) fn read(row: &Row, first: usize) -> Result<Balance, StoreError> {
    Ok(Balance { balance: row.get(first)?, held: row.get(first + 1)? })
}
