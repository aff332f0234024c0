//! Orders of credits, and their payments.

use overnight_domain::audit_log::AuditAction;
use overnight_domain::ids::PaymentId;
use overnight_domain::money::{Credits, EntryKind};
use overnight_domain::scheduler::AccountKey;
use serde_json::json;

use crate::audit_log::{self, Change};
use crate::database::{Row, Tx, statements};
use crate::direction::Direction;
use crate::idempotency_keys::{Guarded, Once, do_once};
use crate::ledger::entries::{self, NewEntry, Posting};
use crate::lists::{self, LOOKED_MAX, ListPage, Question};
use crate::{Store, StoreError};

/// Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    pub id: PaymentId,
    pub account: AccountKey,
    pub provider: String,
    pub credits: Credits,
    /// Price in minor units.
    pub amount: i64,
    pub currency: String,
    pub created_at: i64,
    /// The provider's name of the payment page, once there is one.
    pub session: Option<String>,
    pub paid_at: Option<i64>,
    /// The provider's name of the payment, once it is paid.
    pub reference: Option<String>,
}

statements! {
    INSERT = "INSERT INTO payments (id, account, provider, credits, amount, currency, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)";
    LIST = "SELECT seq, id, account, provider, credits, amount, currency, created_at, session, paid_at, reference
        FROM payments WHERE account = ? AND seq < ? AND seq >= ? AND (session IS NOT NULL OR paid_at IS NOT NULL) ORDER BY seq DESC LIMIT ?";
    /// The last row examined by one statement.
    FLOOR = "SELECT seq FROM payments WHERE account = ? AND seq < ? ORDER BY seq DESC LIMIT 1 OFFSET ?";
    FIND = "SELECT id, account, provider, credits, amount, currency, created_at, session, paid_at, reference
        FROM payments WHERE id = ?";
    FIND_PAID = "SELECT id, account, provider, credits, amount, currency, created_at, session, paid_at, reference
        FROM payments WHERE reference = ?";
    PAYS_ANOTHER = "SELECT seq FROM payments WHERE reference = ? AND id <> ?";
    NOTE_PAID = "UPDATE payments SET paid_at = ?, reference = ?, credits = ?, amount = ?, check_at = NULL WHERE id = ? AND paid_at IS NULL";
    FIND_REFERENCE = "SELECT reference FROM payments WHERE id = ?";
    ACTIVATE = "UPDATE accounts SET payments_activated_at = coalesce(payments_activated_at, ?) WHERE seq = ?";
}

/// Before it can be paid.
pub async fn insert(store: &Store, payment: &Payment) -> Result<(), StoreError> {
    insert_once(store, payment, None).await?.into_done()
}

/// As [`insert`], once for all calls with the same idempotency key.
pub async fn insert_once(
    store: &Store,
    payment: &Payment,
    once: Option<Once>,
) -> Result<Guarded<()>, StoreError> {
    let (account, created_at) = (payment.account, payment.created_at);
    let insert = INSERT
        .bind(payment.id)
        .bind(payment.account)
        .bind(payment.provider.as_str())
        .bind(payment.credits.nanos())
        .bind(payment.amount)
        .bind(payment.currency.as_str())
        .bind(payment.created_at);
    let details = json!({"credits": payment.credits.to_string(), "amount": payment.amount, "currency": payment.currency,
        "provider": payment.provider});
    let change =
        Change::of_account(AuditAction::PaymentCreate, account, created_at).to("payment", &payment.id);
    let work = async move |tx: &mut Tx<'_>| {
        tx.execute(insert).await?;
        audit_log::note_in(change.with(details), tx).await
    };
    do_once(store, account, once, created_at, work).await
}

/// Payable orders older than row `before`, newest first, up to `limit`; examines at most 20,000.
pub async fn list(
    store: &Store,
    account: AccountKey,
    before: Option<i64>,
    limit: u32,
) -> Result<ListPage<Payment>, StoreError> {
    let question = Question {
        direction: Direction::NewestFirst,
        wanted: None,
        before,
        rows_max: limit as usize,
        looked_max: LOOKED_MAX,
        floor: |behind, count| FLOOR.bind(account).bind(behind).bind(count - 1),
        rows: |behind, floor, limit| LIST.bind(account).bind(behind).bind(floor).bind(limit as i64),
    };
    lists::page(&store.long_readers(account), None, question, read).await
}

pub async fn find(store: &Store, id: PaymentId) -> Result<Option<Payment>, StoreError> {
    store.readers().fetch_optional(FIND.bind(id)).await?.as_ref().map(read).transpose()
}

/// By the provider's name of the payment.
pub async fn find_paid(store: &Store, reference: &str) -> Result<Option<Payment>, StoreError> {
    store.readers().fetch_optional(FIND_PAID.bind(reference)).await?.as_ref().map(read).transpose()
}

/// Posts the credits of a paid order, and activates the account's payments. A repeat has no effect. A second payment of the order is
/// refused, as is a payment of two orders.
pub async fn post(store: &Store, paid: &Payment, reference: &str, now: i64) -> Result<Posting, StoreError> {
    let (paid, reference) = (paid.clone(), reference.to_owned());
    store.transaction(async move |tx| post_in(&paid, &reference, now, tx).await).await
}

async fn post_in(paid: &Payment, reference: &str, now: i64, tx: &mut Tx<'_>) -> Result<Posting, StoreError> {
    if !tx.fetch(PAYS_ANOTHER.bind(reference).bind(paid.id)).await?.is_empty() {
        return Ok(Posting::Refused);
    }
    let update =
        NOTE_PAID.bind(now).bind(reference).bind(paid.credits.nanos()).bind(paid.amount).bind(paid.id);
    if tx.execute(update).await? == 0 {
        let rows = tx.fetch(FIND_REFERENCE.bind(paid.id)).await?;
        let stored = rows.first().map(|row| row.get::<Option<String>>("reference")).transpose()?.flatten();
        let is_repeat = stored.as_deref() == Some(reference);
        return Ok(if is_repeat { Posting::PostedBefore } else { Posting::Refused });
    }
    tx.execute(ACTIVATE.bind(now).bind(paid.account)).await?;
    let (account, kind, amount, source) = (paid.account, EntryKind::TopUp, paid.credits, paid.id.to_string());
    let posting = entries::post_in(&NewEntry { account, kind, amount, source, now }, tx).await?;
    if posting != Posting::Posted {
        tx.undo();
    }
    Ok(posting)
}

pub(super) fn read(row: &Row) -> Result<Payment, StoreError> {
    Ok(Payment {
        id: row.get("id")?,
        account: row.get("account")?,
        provider: row.get("provider")?,
        credits: row.get("credits")?,
        amount: row.get("amount")?,
        currency: row.get("currency")?,
        created_at: row.get("created_at")?,
        session: row.get("session")?,
        paid_at: row.get("paid_at")?,
        reference: row.get("reference")?,
    })
}
