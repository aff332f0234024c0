//! Retention: deleting old requests in the order of their results, 128 per transaction, some of each account in turn, so that none waits
//! for all of another's. Batches count them as deleted, accounts get their bytes back, and the highest deleted numbers are kept
//! (`last_deleted`), so that no row number is given out twice.

use std::collections::BTreeMap;

use overnight_domain::audit_log::AuditAction;
use overnight_domain::scheduler::AccountKey;
use serde_json::json;

use crate::audit_log::{self, Change};
use crate::database::{Row, Tx, statements};
use crate::idempotency_keys::{Guarded, Once, do_once};
use crate::ledger::totals;
use crate::requests::deletion::{Ended, ROWS_MAX, delete, read_chunk};
use crate::writer::{Job, Operation, WriteClass};
use crate::writes::{WriteOrder, WriteTransaction};
use crate::{Store, StoreError};

/// A retention without end, in milliseconds.
pub const FOR_EVER: i64 = i64::MAX;

statements! {
    /// Accounts with a retention, of which one of the oldest requests is due or ended later than now: others may be due after requests that
    /// ended while the clock was ahead.
    LIST_DUE = "SELECT a.seq, coalesce(a.retention_ms, ?) AS retention_ms FROM accounts a
        WHERE coalesce(a.retention_ms, ?) < ?
          AND EXISTS (SELECT 1 FROM (SELECT ended_at FROM request_states WHERE account = a.seq ORDER BY seq LIMIT ?) o
                      WHERE o.ended_at <= ? - coalesce(a.retention_ms, ?) OR o.ended_at > ?) ORDER BY a.seq";
    /// The account's next requests, live ones included.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    pub account: AccountKey,
    /// Ended by then, in milliseconds.
    pub before: i64,
    /// Row numbers after this one.
    pub after: i64,
}

impl Due {
    /// `before` is in milliseconds.
    pub const fn all(account: AccountKey, before: i64) -> Self {
        Self { account, before, after: 0 }
    }
}

/// Accounts with requests due at `now`. Accounts without a retention use `default`, or keep theirs for ever.
pub async fn list_due(store: &Store, now: i64, default: Option<i64>) -> Result<Vec<Due>, StoreError> {
    // Longer than any time.
    let default = default.unwrap_or(FOR_EVER);
    let rows =
        LIST_DUE.bind(default).bind(default).bind(FOR_EVER).bind(ROWS_MAX).bind(now).bind(default).bind(now);
    let read = |row: &Row| {
        let retention: i64 = row.get("retention_ms")?;
        Ok(Due::all(AccountKey(row.get("seq")?), now - retention))
    };
    store.readers().fetch_all(rows).await?.iter().map(read).collect()
}

/// Sets how long ended requests are kept, in milliseconds; `None` for the settings' default. A repeat has no effect, and a closed account
/// is refused. Once for all calls with the same idempotency key.
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

/// Deletes some due requests; returns their number. Only the oldest 128 are examined: while all of those live or ended later, the others
/// wait, at most the 24 hours in which a request ends.
pub async fn delete_ended(store: &Store, due: Due) -> Result<usize, StoreError> {
    store.writer().write(DeleteEnded(due)).await
}

/// The next requests to examine if [`delete_ended`] found none because requests ended later than `now`, while the clock was ahead.
pub async fn skip_future(store: &Store, due: Due, now: i64) -> Result<Option<Due>, StoreError> {
    let row =
        store.readers().fetch_one(MEASURE_NEXT.bind(due.account).bind(due.after).bind(ROWS_MAX)).await?;
    let are_more = row.get::<i64>("requests")? == i64::from(ROWS_MAX);
    if !are_more || row.get::<Option<i64>>("ended_at")?.is_none_or(|ended_at| ended_at <= now) {
        return Ok(None);
    }
    Ok(Some(Due { after: row.get("last")?, ..due }))
}

pub(crate) struct DeleteEnded(Due);

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
    async fn find(&self, write: &mut WriteTransaction<'_>) -> Result<BTreeMap<i64, Ended>, StoreError> {
        let Due { account, before, after } = self.0;
        let find = FIND_NEXT.bind(account).bind(after).bind(ROWS_MAX).bind(before);
        read_chunk(&write.tx.fetch(find).await?)
    }
}
