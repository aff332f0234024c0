//! Attempts that failed and count against their request: at most as many as the scheduler makes.

use overnight_domain::ids::RequestId;
use overnight_domain::records::FailedAttempt;
use overnight_domain::scheduler::{AccountKey, QueueKey};

use crate::store::database::{Row, statements};
use crate::store::writes::WriteTransaction;
use crate::store::{Store, StoreError};

statements! {
    RECORD_ATTEMPT = "INSERT INTO attempts (request, number, ended_at, status, message, engine)
        SELECT CAST(? AS BIGINT), coalesce(max(number), 0) + 1, CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS TEXT), CAST(? AS TEXT)
        FROM attempts WHERE request = ?";
    /// By the key of the table: of the newest requests that have any.
    LATEST = "SELECT ended_at, status, message, engine FROM attempts ORDER BY request DESC, number DESC LIMIT ?";
    LIST_ATTEMPTS = "SELECT a.ended_at, a.status, a.message, a.engine FROM requests r JOIN attempts a ON a.request = r.seq
        WHERE r.id = ? AND r.account = ? ORDER BY a.number";
}

/// Records the newest attempt at a request.
pub(in crate::store) async fn record(
    write: &mut WriteTransaction<'_>,
    key: &QueueKey,
    attempt: &FailedAttempt,
) -> Result<(), StoreError> {
    let seq = key.position.seq;
    let insert = RECORD_ATTEMPT
        .bind(seq)
        .bind(attempt.at)
        .bind(attempt.status.map(i64::from))
        .bind(attempt.message.as_str())
        .bind(attempt.engine.clone())
        .bind(seq);
    write.tx.execute(insert).await?;
    write.effects.ledger.store_bytes(key.partition.account.0, attempt.message.len() as i64);
    Ok(())
}

/// The failed attempts at a request of `account`, oldest first; none where it has none or is not the account's.
pub async fn list_attempts(
    store: &Store,
    account: AccountKey,
    id: RequestId,
) -> Result<Vec<FailedAttempt>, StoreError> {
    let rows = store.readers().fetch_all(LIST_ATTEMPTS.bind(id).bind(account)).await?;
    rows.iter().map(read).collect()
}

/// Some failed attempts at the newest requests of all accounts that have any, the latest first.
pub async fn latest(store: &Store, limit: i64) -> Result<Vec<FailedAttempt>, StoreError> {
    let rows = store.readers().fetch_all(LATEST.bind(limit)).await?;
    let mut attempts = rows.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    attempts.sort_by_key(|attempt| std::cmp::Reverse(attempt.at));
    Ok(attempts)
}

fn read(row: &Row) -> Result<FailedAttempt, StoreError> {
    let status = row.get::<Option<i64>>("status")?.and_then(|status| u16::try_from(status).ok());
    Ok(FailedAttempt {
        at: row.get("ended_at")?,
        status,
        message: row.get("message")?,
        engine: row.get("engine")?,
    })
}
