//! Accounts: who requests belong to.

use overnight_domain::ids::AccountId;
use overnight_domain::scheduler::AccountKey;

use super::sql::{Row, sql};
use super::{Store, StoreError};

/// An account. Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Its row number.
    pub key: AccountKey,
    /// Its identifier.
    pub id: AccountId,
    /// What people call it.
    pub name: String,
    /// When it was made.
    pub created_at: i64,
}

/// Makes an account, visible to every process once this returns.
pub async fn insert(store: &Store, id: AccountId, name: &str, now: i64) -> Result<Account, StoreError> {
    let mut connection = store.connect().await?;
    let text =
        "INSERT INTO accounts (id, name, created_at) VALUES (?, ?, ?) RETURNING seq, id, name, created_at";
    let insert = sql(text).bind(id.to_bytes()).bind(name).bind(now);
    read(&connection.fetch_one(insert).await?)
}

/// The account with this identifier.
pub async fn find(store: &Store, id: AccountId) -> Result<Option<Account>, StoreError> {
    let text = "SELECT seq, id, name, created_at FROM accounts WHERE id = ?";
    let found = store.readers().fetch_optional(sql(text).bind(id.to_bytes())).await?;
    found.as_ref().map(read).transpose()
}

/// Every account, oldest first.
pub async fn list(store: &Store) -> Result<Vec<Account>, StoreError> {
    let text = "SELECT seq, id, name, created_at FROM accounts ORDER BY seq";
    store.readers().fetch_all(sql(text)).await?.iter().map(read).collect()
}

fn read(row: &Row) -> Result<Account, StoreError> {
    let id = AccountId::from_bytes(row.get(1)?).ok_or(StoreError::Damaged("an account's id"))?;
    Ok(Account { key: AccountKey(row.get(0)?), id, name: row.get(2)?, created_at: row.get(3)? })
}
