//! Failed attempts that count against their request; the scheduler limits them.

use overnight_domain::ids::RequestId;
use overnight_domain::records::FailedAttempt;
use overnight_domain::scheduler::{AccountKey, QueueKey};

use crate::database::{Row, statements};
use crate::writes::WriteTransaction;
use crate::{Store, StoreError};

statements! {
    RECORD_ATTEMPT = "INSERT INTO attempts (request, number, ended_at, status, message, engine)
        SELECT CAST(? AS BIGINT), coalesce(max(number), 0) + 1, CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS TEXT), CAST(? AS TEXT)
        FROM attempts WHERE request = ?";
    /// By the key of the table: of the newest requests that have any.
    LATEST = "SELECT ended_at, status, message, engine FROM attempts ORDER BY request DESC, number DESC LIMIT ?";
    LIST_ATTEMPTS = "SELECT a.ended_at, a.status, a.message, a.engine FROM requests r JOIN attempts a ON a.request = r.seq
        WHERE r.id = ? AND r.account = ? ORDER BY a.number";
}

pub(crate) async fn record(
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

/// Oldest first; empty if the account has no such request.
pub async fn list_attempts(
    store: &Store,
    account: AccountKey,
    id: RequestId,
) -> Result<Vec<FailedAttempt>, StoreError> {
    let rows = store.readers().fetch_all(LIST_ATTEMPTS.bind(id).bind(account)).await?;
    rows.iter().map(read).collect()
}

/// At the newest requests of all accounts that have any, latest first.
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
