//! The ledger: append-only entries that change an account's balance, one per source.

use overnight_domain::audit_log::AuditAction;
use overnight_domain::ids::RequestId;
use overnight_domain::money::{Credits, EntryKind};
use overnight_domain::scheduler::{AccountKey, QueuePartition};
use serde_json::json;

use crate::audit_log::{self, Change};
use crate::database::{Row, Statement, Tx, Value, statements};
use crate::direction::Direction;
use crate::idempotency_keys::{Guarded, Once, do_once};
use crate::ledger::totals;
use crate::lists::{self, LOOKED_MAX, ListPage, Question};
use crate::{Store, StoreError};

/// The audit has the same literal numbers.
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
    /// Also notes whether credits are low.
    MOVE_BALANCE = "UPDATE accounts SET balance = balance + ?,
               low_credits_notified = CASE WHEN balance + ? - held < low_credits_threshold
                   THEN coalesce(low_credits_notified, 0 /* to be told */) END
        WHERE seq = ? AND balance + ? BETWEEN ? AND ? AND balance - held + ? >= ?";
    FIND_AMOUNT = "SELECT amount FROM ledger WHERE kind = ? AND source = ? AND source IS NOT NULL";
    LIST = "SELECT l.seq, l.kind, l.amount, l.created_at, l.source, l.request, m.name AS model
        FROM ledger l LEFT JOIN models m ON m.seq = l.model
        WHERE l.account = ? AND l.seq < ? AND l.seq >= ? AND l.kind BETWEEN ? AND ? ORDER BY l.seq DESC LIMIT ?";
    /// The last row examined by one statement.
    FLOOR = "SELECT seq FROM ledger WHERE account = ? AND seq < ? ORDER BY seq DESC LIMIT 1 OFFSET ?";
}

/// The charge of a completed request; the amount is subtracted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Charge {
    pub(crate) partition: QueuePartition,
    pub(crate) request: i64,
    pub(crate) result: i64,
    pub(crate) amount: i64,
    pub(crate) now: i64,
}

/// A result has one charge: a second breaks a constraint.
pub(crate) async fn insert_charges(charges: &[Charge], tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let values = charges.iter().flat_map(|Charge { partition, request, result, amount, now }| {
        let kind = code(EntryKind::Charge);
        [partition.account.0, kind, -amount, *now, *result, partition.model.0, *request].map(Value::from)
    });
    tx.execute(INSERT_CHARGES.over([], values.collect())).await.map(drop)
}

/// An entry that is not a charge.
#[derive(Debug, Clone)]
pub struct NewEntry {
    pub account: AccountKey,
    pub kind: EntryKind,
    pub amount: Credits,
    /// What it is for: kind and source are unique.
    pub source: String,
    /// In milliseconds.
    pub now: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Posting {
    Posted,
    /// It was posted before; the balance is unchanged.
    PostedBefore,
    /// It would take more than is available, or exceed the maximum balance.
    Refused,
}

/// Immediately, also while a service runs.
pub async fn post(store: &Store, entry: &NewEntry) -> Result<Posting, StoreError> {
    let entry = entry.clone();
    store.transaction(async move |tx| post_in(&entry, tx).await).await
}

/// Once for all calls with the same idempotency key, which only a posted entry takes.
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
            // Without a change there is no answer for repeats, so the key stays free.
            tx.undo();
        }
        Ok(posting)
    };
    do_once(store, account, once, now, posting).await
}

/// Posts an entry that takes money back and was undone meanwhile: the entry, and its reversal under the source `undoing`.
pub async fn post_undone(store: &Store, entry: &NewEntry, undoing: &str) -> Result<Posting, StoreError> {
    let taking = entry.clone();
    let giving = NewEntry { amount: -taking.amount, source: undoing.to_owned(), ..taking.clone() };
    let posting = async move |tx: &mut Tx<'_>| match post_in(&taking, tx).await? {
        Posting::Refused => Ok(Posting::Refused),
        Posting::Posted | Posting::PostedBefore => post_in(&giving, tx).await,
    };
    store.transaction(posting).await
}

pub async fn find_amount(
    store: &Store,
    kind: EntryKind,
    source: &str,
) -> Result<Option<Credits>, StoreError> {
    let found = store.readers().fetch_optional(FIND_AMOUNT.bind(code(kind)).bind(source)).await?;
    found.map(|row| row.get("amount")).transpose()
}

/// A refusal undoes the transaction. A closed account gets no grants.
pub(crate) async fn post_in(entry: &NewEntry, tx: &mut Tx<'_>) -> Result<Posting, StoreError> {
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
        // Stored sources begin with the account, so that each account has its own.
        let source = source.split_once(' ').map_or(source.as_str(), |(_, given)| given);
        let change = Change::of_account(AuditAction::CreditsGrant, *account, *now);
        let details = json!({"amount": amount.to_string(), "source": source});
        audit_log::note_in(change.with(details), tx).await?;
    }
    Ok(Posting::Posted)
}

/// Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Row number; entries are posted in this order.
    pub seq: i64,
    pub kind: EntryKind,
    pub amount: Credits,
    pub created_at: i64,
    /// `None` for a charge.
    pub source: Option<String>,
    pub request: Option<RequestId>,
    /// As the request named it.
    pub model: Option<String>,
}

/// Entries older than row `before`, newest first, up to `limit`, of one kind or all; examines at most 20,000.
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

/// The statements for such a page.
pub(crate) fn question(
    account: AccountKey,
    kind: Option<EntryKind>,
    before: Option<i64>,
    limit: u32,
) -> Question<impl Fn(i64, u32) -> Statement, impl Fn(i64, i64, usize) -> Statement> {
    let (first, last) = kind.map_or((0, code(EntryKind::Dispute)), |kind| (code(kind), code(kind)));
    Question {
        direction: Direction::NewestFirst,
        wanted: None,
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
