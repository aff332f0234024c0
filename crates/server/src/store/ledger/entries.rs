//! The ledger: append-only entries that move an account's balance, each there once for its source.

use overnight_domain::audit_log::AuditAction;
use overnight_domain::ids::RequestId;
use overnight_domain::money::{Credits, EntryKind};
use overnight_domain::scheduler::{AccountKey, QueuePartition};
use serde_json::json;

use crate::store::audit_log::{self, Change};
use crate::store::database::{Row, Statement, Tx, Value, statements};
use crate::store::idempotency_keys::{Guarded, Once, do_once};
use crate::store::ledger::totals;
use crate::store::lists::{self, LOOKED_MAX, ListPage, Order, Question};
use crate::store::{Store, StoreError};

/// The code of a kind; the literal numbers also stand in the audit.
const fn code(kind: EntryKind) -> i64 {
    match kind {
        EntryKind::Grant => 0,
        EntryKind::TopUp => 1,
        EntryKind::Charge => 2,
        EntryKind::Refund => 3,
        EntryKind::Dispute => 4,
    }
}

statements! {
    INSERT_CHARGES over [Integer, Integer, Integer, Integer, Integer, Integer, Integer] = {
        sqlite: "INSERT INTO ledger (account, kind, amount, created_at, result, model, request)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, (SELECT r.id FROM requests r WHERE r.seq = ?7))",
        postgres: "INSERT INTO ledger (account, kind, amount, created_at, result, model, request)
            SELECT v.account, v.kind, v.amount, v.created_at, v.result, v.model, r.id
            FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
                AS v(account, kind, amount, created_at, result, model, request)
            LEFT JOIN requests r ON r.seq = v.request ORDER BY v.result",
    };
    INSERT = "INSERT INTO ledger (account, kind, amount, created_at, source) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (kind, source) WHERE source IS NOT NULL DO NOTHING";
    /// Whether credits are low is noted with it.
    MOVE_BALANCE = "UPDATE accounts SET balance = balance + ?,
               low_credits_notified = CASE WHEN balance + ? - held < low_credits_threshold
                   THEN coalesce(low_credits_notified, 0 /* to be told */) END
        WHERE seq = ? AND balance + ? BETWEEN ? AND ? AND balance - held + ? >= ?";
    FIND_AMOUNT = "SELECT amount FROM ledger WHERE kind = ? AND source = ? AND source IS NOT NULL";
    LIST = "SELECT l.seq, l.kind, l.amount, l.created_at, l.source, l.request, m.name AS model
        FROM ledger l LEFT JOIN models m ON m.seq = l.model
        WHERE l.account = ? AND l.seq < ? AND l.seq >= ? AND l.kind BETWEEN ? AND ? ORDER BY l.seq DESC LIMIT ?";
    /// The last row that is looked at by one statement.
    FLOOR = "SELECT seq FROM ledger WHERE account = ? AND seq < ? ORDER BY seq DESC LIMIT 1 OFFSET ?";
}

/// The charge of a request that completed; its amount is what is taken.
#[derive(Debug, Clone, Copy)]
pub(in crate::store) struct Charge {
    pub(in crate::store) partition: QueuePartition,
    pub(in crate::store) request: i64,
    pub(in crate::store) result: i64,
    pub(in crate::store) amount: i64,
    pub(in crate::store) now: i64,
}

/// Enters charges. Of one result there is one: a second is a broken constraint.
pub(in crate::store) async fn insert_charges(charges: &[Charge], tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let values = charges.iter().flat_map(|Charge { partition, request, result, amount, now }| {
        let kind = code(EntryKind::Charge);
        [partition.account.0, kind, -amount, *now, *result, partition.model.0, *request].map(Value::from)
    });
    tx.execute(INSERT_CHARGES.over([], values.collect())).await.map(drop)
}

/// An entry to be posted that is no charge.
#[derive(Debug, Clone)]
pub struct NewEntry {
    pub account: AccountKey,
    pub kind: EntryKind,
    pub amount: Credits,
    /// What it is posted for: of one kind and source there is one entry.
    pub source: String,
    /// When, in milliseconds.
    pub now: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Posting {
    /// It is in the ledger, and the balance has moved.
    Posted,
    /// It was there before; nothing changed.
    PostedBefore,
    /// It would take more than is available, or the account to more than it can have; nothing changed.
    Refused,
}

/// Posts an entry at once, beside a running service too.
pub async fn post(store: &Store, entry: &NewEntry) -> Result<Posting, StoreError> {
    let entry = entry.clone();
    store.transaction(async move |tx| post_in(&entry, tx).await).await
}

/// The same, once for all calls with the same idempotency key, which only an entry that is posted takes.
pub async fn post_once(
    store: &Store,
    entry: &NewEntry,
    once: Option<Once>,
) -> Result<Guarded<Posting>, StoreError> {
    let entry = entry.clone();
    let (account, now) = (entry.account, entry.now);
    let posting = async move |tx: &mut Tx<'_>| {
        let posting = post_in(&entry, tx).await?;
        if posting == Posting::PostedBefore {
            // Nothing changed that a repeat could be answered with, so the key stays free.
            tx.undo();
        }
        Ok(posting)
    };
    do_once(store, account, once, now, posting).await
}

/// Posts what takes money back and was undone by now: the entry, and what moves the balance back under the source `undoing`.
pub async fn post_undone(store: &Store, entry: &NewEntry, undoing: &str) -> Result<Posting, StoreError> {
    let taking = entry.clone();
    let giving = NewEntry { amount: -taking.amount, source: undoing.to_owned(), ..taking.clone() };
    let posting = async move |tx: &mut Tx<'_>| match post_in(&taking, tx).await? {
        Posting::Refused => Ok(Posting::Refused),
        Posting::Posted | Posting::PostedBefore => post_in(&giving, tx).await,
    };
    store.transaction(posting).await
}

/// The amount of the entry of this kind and source.
pub async fn find_amount(
    store: &Store,
    kind: EntryKind,
    source: &str,
) -> Result<Option<Credits>, StoreError> {
    let found = store.readers().fetch_optional(FIND_AMOUNT.bind(code(kind)).bind(source)).await?;
    found.map(|row| row.get("amount")).transpose()
}

/// Posts an entry in a transaction, which is undone where it is refused. Nothing is granted to an account that is closed.
pub(in crate::store) async fn post_in(entry: &NewEntry, tx: &mut Tx<'_>) -> Result<Posting, StoreError> {
    let NewEntry { account, kind, amount, source, now } = entry;
    if *kind == EntryKind::Grant && *amount > Credits::ZERO {
        totals::lock_open(*account, tx).await?;
    }
    let insert = INSERT.bind(*account).bind(code(*kind)).bind(amount.nanos()).bind(*now);
    if tx.execute(insert.bind(source.as_str())).await? == 0 {
        return Ok(Posting::PostedBefore);
    }
    let least = if kind.may_overdraw() || *amount >= Credits::ZERO { i64::MIN } else { 0 };
    let update = MOVE_BALANCE
        .bind(amount.nanos())
        .bind(amount.nanos())
        .bind(*account)
        .bind(amount.nanos())
        .bind((-Credits::MAX).nanos())
        .bind(Credits::MAX.nanos())
        .bind(amount.nanos())
        .bind(least);
    if tx.execute(update).await? == 0 {
        tx.undo();
        return Ok(Posting::Refused);
    }
    if *kind == EntryKind::Grant {
        // What is stored begins with the account, so that each has sources of its own.
        let source = source.split_once(' ').map_or(source.as_str(), |(_, given)| given);
        let change = Change::of_account(AuditAction::CreditsGrant, *account, *now);
        let details = json!({"amount": amount.to_string(), "source": source});
        audit_log::note_in(change.with(details), tx).await?;
    }
    Ok(Posting::Posted)
}

/// An entry. Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its row number: entries are posted in this order.
    pub seq: i64,
    pub kind: EntryKind,
    pub amount: Credits,
    pub created_at: i64,
    /// What it was posted for, of what is no charge.
    pub source: Option<String>,
    pub request: Option<RequestId>,
    /// The model that the request named.
    pub model: Option<String>,
}

/// A page of an account's entries behind the one in row `before`, the newest first, `limit` at most; of one kind, or all.
/// 20,000 are looked through at most.
pub async fn list(
    store: &Store,
    account: AccountKey,
    kind: Option<EntryKind>,
    before: Option<i64>,
    limit: u32,
) -> Result<ListPage<Entry>, StoreError> {
    let question = question(account, kind, before, limit);
    lists::page(&store.long_readers(account), None, question, read).await
}

/// How the database is asked for such a page.
pub(in crate::store) fn question(
    account: AccountKey,
    kind: Option<EntryKind>,
    before: Option<i64>,
    limit: u32,
) -> Question<impl Fn(i64, u32) -> Statement, impl Fn(i64, i64, usize) -> Statement> {
    let (first, last) = kind.map_or((0, code(EntryKind::Dispute)), |kind| (code(kind), code(kind)));
    Question {
        order: Order::NewestFirst,
        before,
        rows_max: limit as usize,
        looked_max: LOOKED_MAX,
        floor: move |behind, count| FLOOR.bind(account).bind(behind).bind(count - 1),
        rows: move |behind, floor, limit| {
            LIST.bind(account).bind(behind).bind(floor).bind(first).bind(last).bind(limit as i64)
        },
    }
}

fn read(row: &Row) -> Result<Entry, StoreError> {
    let kind: i64 = row.get("kind")?;
    let kind = EntryKind::ALL.into_iter().find(|it| code(*it) == kind);
    Ok(Entry {
        seq: row.get("seq")?,
        kind: kind.ok_or(StoreError::Damaged("an entry's kind"))?,
        amount: row.get("amount")?,
        created_at: row.get("created_at")?,
        source: row.get("source")?,
        request: row.get("request")?,
        model: row.get("model")?,
    })
}
