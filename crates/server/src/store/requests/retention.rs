//! Deleting requests whose retention is over: some of each account in turn, so that none waits for all of another's.
//!
//! Retention deletes whole records. `workers::retention` deletes requests in the order of their results, 128 a transaction
//! (`store/requests/retention.rs`). Its batch counts them as deleted, its account gets their bytes back, and the highest numbers that
//! were deleted are kept (`last_deleted`), so that no row number is given out twice.

use std::collections::BTreeMap;

use overnight_domain::audit_log::AuditAction;
use overnight_domain::scheduler::AccountKey;
use serde_json::json;

use crate::store::audit_log::{self, Change};
use crate::store::database::{Row, Tx, statements};
use crate::store::idempotency_keys::{Guarded, Once, do_once};
use crate::store::ledger::totals;
use crate::store::requests::deletion::{Ended, ROWS_MAX, delete, read_chunk};
use crate::store::writer::{Job, Operation, WriteClass};
use crate::store::writes::{WriteOrder, WriteTransaction};
use crate::store::{Store, StoreError};

/// A retention that is never over, in milliseconds.
pub const FOR_EVER: i64 = i64::MAX;

statements! {
    /// The accounts that keep nothing for ever and of which one of the oldest requests is due, or ended later than now: behind those that
    /// ended while the clock was ahead, others may be due.
    LIST_DUE = "SELECT a.seq, coalesce(a.retention_ms, ?) AS retention_ms FROM accounts a
        WHERE coalesce(a.retention_ms, ?) < ?
          AND EXISTS (SELECT 1 FROM (SELECT ended_at FROM request_states WHERE account = a.seq ORDER BY seq LIMIT ?) o
                      WHERE o.ended_at <= ? - coalesce(a.retention_ms, ?) OR o.ended_at > ?) ORDER BY a.seq";
    /// The next of an account, those that live among them.
    FIND_NEXT = "SELECT rs.seq, rs.account, rs.result_seq, rs.ended_at,
               512 + octet_length(r.body) + coalesce(octet_length(r.metadata), 0) + coalesce(1024 + 2 * octet_length(r.webhook), 0)
               + coalesce(octet_length(t.body), 0) + (SELECT CAST(coalesce(sum(octet_length(a.message)), 0) AS BIGINT)
                                                      FROM attempts a WHERE a.request = rs.seq) AS bytes
        FROM (SELECT seq, account, result_seq, ended_at FROM request_states WHERE account = ? AND seq > ? ORDER BY seq LIMIT ?) rs
        JOIN requests r ON r.seq = rs.seq LEFT JOIN results t ON t.seq = rs.result_seq
        WHERE rs.ended_at <= ? ORDER BY rs.seq";
    MEASURE_NEXT = "SELECT count(*) AS requests, max(seq) AS last, max(ended_at) AS ended_at
        FROM (SELECT seq, ended_at FROM request_states WHERE account = ? AND seq > ? ORDER BY seq LIMIT ?) o";
    SET = "UPDATE accounts SET retention_ms = ? WHERE seq = ? AND retention_ms IS DISTINCT FROM ?";
}

/// Requests of an account that are due to be deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    pub account: AccountKey,
    /// Those that ended by then, in milliseconds.
    pub before: i64,
    /// Those that came after the one with this number.
    pub after: i64,
}

impl Due {
    /// All of an account that ended by `before`, in milliseconds.
    pub const fn all(account: AccountKey, before: i64) -> Self {
        Self { account, before, after: 0 }
    }
}

/// The accounts of which requests are due at `now`, where those without a retention of their own keep theirs for `default`, or for ever.
pub async fn list_due(store: &Store, now: i64, default: Option<i64>) -> Result<Vec<Due>, StoreError> {
    // For ever is longer than time is counted.
    let default = default.unwrap_or(FOR_EVER);
    let rows =
        LIST_DUE.bind(default).bind(default).bind(FOR_EVER).bind(ROWS_MAX).bind(now).bind(default).bind(now);
    let read = |row: &Row| {
        let retention: i64 = row.get("retention_ms")?;
        Ok(Due::all(AccountKey(row.get("seq")?), now - retention))
    };
    store.readers().fetch_all(rows).await?.iter().map(read).collect()
}

/// Sets how long ended requests of an account are kept, in milliseconds; `None` for as long as the settings say. The same
/// again changes nothing, and a closed account is refused. Once for all calls with the same idempotency key.
pub async fn set_retention(
    store: &Store,
    account: AccountKey,
    retention_ms: Option<i64>,
    now: i64,
    once: Option<Once>,
) -> Result<Guarded<()>, StoreError> {
    let set = async move |tx: &mut Tx<'_>| {
        totals::lock_open(account, tx).await?;
        if tx.execute(SET.bind(retention_ms).bind(account).bind(retention_ms)).await? == 0 {
            return Ok(());
        }
        let change = Change::of_account(AuditAction::AccountRetention, account, now);
        audit_log::note_in(change.with(json!({"retention_ms": retention_ms})), tx).await
    };
    do_once(store, account, once, now, set).await
}

/// Deletes some of the requests that are due; how many. Only the oldest 128 of them and of those that are not due are looked at: while
/// all of those live or ended later, the others wait, for the 24 hours at most in which a request ends.
pub async fn delete_ended(store: &Store, due: Due) -> Result<usize, StoreError> {
    store.writer().write(DeleteEnded(due)).await
}

/// What to look at where [`delete_ended`] found nothing because requests ended later than `now`, while the clock was ahead: those that
/// came after.
pub async fn skip_future(store: &Store, due: Due, now: i64) -> Result<Option<Due>, StoreError> {
    let row =
        store.readers().fetch_one(MEASURE_NEXT.bind(due.account).bind(due.after).bind(ROWS_MAX)).await?;
    let are_more = row.get::<i64>("requests")? == i64::from(ROWS_MAX);
    if !are_more || row.get::<Option<i64>>("ended_at")?.is_none_or(|ended_at| ended_at <= now) {
        return Ok(None);
    }
    Ok(Some(Due { after: row.get("last")?, ..due }))
}

pub(in crate::store) struct DeleteEnded(Due);

impl Operation for DeleteEnded {
    type Answer = usize;
    const CLASS: WriteClass = WriteClass::Control;
    const ORDER: WriteOrder = WriteOrder::DeleteEnded;

    fn rows(&self) -> usize {
        ROWS_MAX as usize
    }

    async fn apply(jobs: &[Job<Self>], write: &mut WriteTransaction<'_>) -> Result<Vec<usize>, StoreError> {
        let mut answers = Vec::with_capacity(jobs.len());
        for job in jobs {
            let found = job.operation.find(write).await?;
            answers.push(delete(found, write).await?);
        }
        Ok(answers)
    }
}

impl DeleteEnded {
    /// What is to go, by `seq`.
    async fn find(&self, write: &mut WriteTransaction<'_>) -> Result<BTreeMap<i64, Ended>, StoreError> {
        let Due { account, before, after } = self.0;
        let find = FIND_NEXT.bind(account).bind(after).bind(ROWS_MAX).bind(before);
        read_chunk(&write.tx.fetch(find).await?)
    }
}
