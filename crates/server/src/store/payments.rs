//! Orders of credits, and what came of them.

use overnight_domain::ids::PaymentId;
use overnight_domain::money::{Credits, EntryKind};
use overnight_domain::scheduler::AccountKey;

use super::database::{Row, Tx, sql};
use super::ledger::{self, Booking, NewEntry};
use super::{Store, StoreError};

/// An order of credits. Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    /// Its identifier.
    pub id: PaymentId,
    /// Who gets the credits.
    pub account: AccountKey,
    /// Who takes the payment.
    pub provider: String,
    /// How many credits.
    pub credits: Credits,
    /// What they cost, in minor units.
    pub amount: i64,
    /// In which currency.
    pub currency: String,
    /// When it was ordered.
    pub created_at: i64,
    /// The provider's name of the page at which it is paid, once there is one.
    pub session: Option<String>,
    /// When it was paid.
    pub paid_at: Option<i64>,
    /// The provider's name of the payment, once it is paid.
    pub reference: Option<String>,
}

macro_rules! columns {
    () => {
        "id, account, provider, credits, amount, currency, created_at, session, paid_at, reference"
    };
}

/// Notes an order, before anybody can pay it.
pub async fn insert(store: &Store, payment: &Payment) -> Result<(), StoreError> {
    let mut connection = store.connect().await?;
    let text = "INSERT INTO payments (id, account, provider, credits, amount, currency, created_at)
                VALUES (?, ?, ?, ?, ?, ?, ?)";
    let insert = sql(text)
        .bind(payment.id.to_bytes())
        .bind(payment.account.0)
        .bind(payment.provider.as_str())
        .bind(payment.credits.nanos())
        .bind(payment.amount)
        .bind(payment.currency.as_str())
        .bind(payment.created_at);
    connection.execute(insert).await.map(drop)
}

/// Notes where an order is paid.
pub async fn note_session(store: &Store, id: PaymentId, session: &str) -> Result<(), StoreError> {
    let mut connection = store.connect().await?;
    let update = sql("UPDATE payments SET session = ? WHERE id = ?").bind(session).bind(id.to_bytes());
    connection.execute(update).await.map(drop)
}

/// The orders of an account that could be paid, the newest first.
pub async fn list(store: &Store, account: AccountKey) -> Result<Vec<Payment>, StoreError> {
    let text = concat!(
        "SELECT ",
        columns!(),
        " FROM payments WHERE account = ? AND (session IS NOT NULL OR paid_at IS NOT NULL) ORDER BY seq DESC"
    );
    store.readers().fetch_all(sql(text).bind(account.0)).await?.iter().map(read).collect()
}

/// The order with this identifier.
pub async fn find(store: &Store, id: PaymentId) -> Result<Option<Payment>, StoreError> {
    let text = concat!("SELECT ", columns!(), " FROM payments WHERE id = ?");
    let found = store.readers().fetch_optional(sql(text).bind(id.to_bytes())).await?;
    found.as_ref().map(read).transpose()
}

/// The order that the provider's payment paid.
pub async fn find_paid(store: &Store, reference: &str) -> Result<Option<Payment>, StoreError> {
    let text = concat!("SELECT ", columns!(), " FROM payments WHERE reference = ?");
    let found = store.readers().fetch_optional(sql(text).bind(reference)).await?;
    found.as_ref().map(read).transpose()
}

/// Books what an order brought: its credits, and its account's payments are activated. Told again, it changes nothing.
pub async fn book(store: &Store, paid: &Payment, reference: &str, now: i64) -> Result<Booking, StoreError> {
    let mut connection = store.connect().await?;
    let mut tx = Tx::begin(&mut connection).await?;
    let booking = book_in(paid, reference, now, &mut tx).await;
    tx.conclude(booking, |booking| *booking == Booking::Booked).await
}

async fn book_in(paid: &Payment, reference: &str, now: i64, tx: &mut Tx<'_>) -> Result<Booking, StoreError> {
    let text = "SELECT 1 FROM payments WHERE reference = ? AND id <> ?";
    if !tx.fetch(sql(text).bind(reference).bind(paid.id.to_bytes())).await?.is_empty() {
        return Ok(Booking::Refused);
    }
    let text = "UPDATE payments SET paid_at = ?, reference = ?, credits = ?, amount = ?
                WHERE id = ? AND paid_at IS NULL";
    let update = sql(text)
        .bind(now)
        .bind(reference)
        .bind(paid.credits.nanos())
        .bind(paid.amount)
        .bind(paid.id.to_bytes());
    if tx.execute(update).await? == 0 {
        return Ok(Booking::BookedBefore);
    }
    let text = "UPDATE accounts SET payments_activated_at = coalesce(payments_activated_at, ?) WHERE seq = ?";
    tx.execute(sql(text).bind(now).bind(paid.account.0)).await?;
    let (account, kind, amount, source) = (paid.account, EntryKind::TopUp, paid.credits, paid.id.to_string());
    ledger::book_in(&NewEntry { account, kind, amount, source, now }, tx).await
}

fn read(row: &Row) -> Result<Payment, StoreError> {
    Ok(Payment {
        id: PaymentId::from_bytes(row.get(0)?).ok_or(StoreError::Damaged("a payment's id"))?,
        account: AccountKey(row.get(1)?),
        provider: row.get(2)?,
        credits: Credits::from_nanos(row.get(3)?),
        amount: row.get(4)?,
        currency: row.get(5)?,
        created_at: row.get(6)?,
        session: row.get(7)?,
        paid_at: row.get(8)?,
        reference: row.get(9)?,
    })
}
