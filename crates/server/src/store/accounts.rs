//! Accounts: who requests belong to.

use overnight_domain::ids::AccountId;
use overnight_domain::money::{Credits, EntryKind};
use overnight_domain::scheduler::AccountKey;
use overnight_domain::webhooks::signature::SigningSecret;

use super::database::{Row, Tx, sql};
use super::ledger::{self, NewEntry};
use super::{Store, StoreError, webhook_secrets};

/// An account to be made.
#[derive(Debug, Clone)]
pub struct NewAccount {
    /// Its identifier.
    pub id: AccountId,
    /// What people call it.
    pub name: String,
    /// When it is made, in milliseconds.
    pub created_at: i64,
    /// Whether its payments are activated from the beginning.
    pub is_activated: bool,
    /// What it is granted from the beginning.
    pub credits: Credits,
    /// What its webhooks are signed with.
    pub webhook_secret: SigningSecret,
}

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
    /// The sum of its ledger entries.
    pub balance: Credits,
    /// What its live requests hold of that.
    pub held: Credits,
    /// Since when its payments are activated.
    pub payments_activated_at: Option<i64>,
}

impl Account {
    /// What new requests may hold; negative where a payment was taken back.
    pub fn available(&self) -> Credits {
        self.balance.checked_sub(self.held).unwrap_or_default()
    }
}

/// What [`read`] reads, of `accounts`.
macro_rules! columns {
    () => {
        "accounts.seq, accounts.id, accounts.name, accounts.created_at, accounts.balance, accounts.held, \
         accounts.payments_activated_at"
    };
}
pub(super) use columns;

/// Makes an account, visible to every process once this returns.
pub async fn insert(store: &Store, account: &NewAccount) -> Result<Account, StoreError> {
    let mut connection = store.connect().await?;
    let mut tx = Tx::begin(&mut connection).await?;
    let made = insert_in(account, &mut tx).await;
    tx.conclude(made, |_| true).await
}

async fn insert_in(account: &NewAccount, tx: &mut Tx<'_>) -> Result<Account, StoreError> {
    let NewAccount { id, name, created_at, is_activated, credits, webhook_secret } = account;
    let text = concat!(
        "INSERT INTO accounts (id, name, created_at, payments_activated_at) VALUES (?, ?, ?, ?) RETURNING ",
        columns!()
    );
    let activated_at = is_activated.then_some(*created_at);
    let insert = sql(text).bind(id.to_bytes()).bind(name.as_str()).bind(*created_at).bind(activated_at);
    let rows = tx.fetch(insert).await?;
    let mut made = read(rows.first().ok_or(StoreError::Damaged("an account that was made"))?)?;
    webhook_secrets::insert_in(made.key, webhook_secret, *created_at, tx).await?;
    if *credits != Credits::ZERO {
        let source = format!("{id} bootstrap");
        let (account, kind, amount, now) = (made.key, EntryKind::Grant, *credits, *created_at);
        ledger::book_in(&NewEntry { account, kind, amount, source, now }, tx).await?;
        made.balance = amount;
    }
    Ok(made)
}

/// Activates an account's payments, felt in every process once this returns. A second time keeps the first time.
pub async fn activate(store: &Store, id: AccountId, now: i64) -> Result<Option<Account>, StoreError> {
    let mut connection = store.connect().await?;
    let text = concat!(
        "UPDATE accounts SET payments_activated_at = coalesce(payments_activated_at, ?) WHERE id = ? RETURNING ",
        columns!()
    );
    connection.fetch(sql(text).bind(now).bind(id.to_bytes())).await?.first().map(read).transpose()
}

/// The account with this identifier.
pub async fn find(store: &Store, id: AccountId) -> Result<Option<Account>, StoreError> {
    let text = concat!("SELECT ", columns!(), " FROM accounts WHERE id = ?");
    let found = store.readers().fetch_optional(sql(text).bind(id.to_bytes())).await?;
    found.as_ref().map(read).transpose()
}

/// The account in this row.
pub async fn get(store: &Store, key: AccountKey) -> Result<Account, StoreError> {
    let text = concat!("SELECT ", columns!(), " FROM accounts WHERE seq = ?");
    read(&store.readers().fetch_one(sql(text).bind(key.0)).await?)
}

/// Every account, oldest first.
pub async fn list(store: &Store) -> Result<Vec<Account>, StoreError> {
    let text = concat!("SELECT ", columns!(), " FROM accounts ORDER BY seq");
    store.readers().fetch_all(sql(text)).await?.iter().map(read).collect()
}

pub(super) fn read(row: &Row) -> Result<Account, StoreError> {
    Ok(Account {
        key: AccountKey(row.get(0)?),
        id: AccountId::from_bytes(row.get(1)?).ok_or(StoreError::Damaged("an account's id"))?,
        name: row.get(2)?,
        created_at: row.get(3)?,
        balance: Credits::from_nanos(row.get(4)?),
        held: Credits::from_nanos(row.get(5)?),
        payments_activated_at: row.get(6)?,
    })
}
