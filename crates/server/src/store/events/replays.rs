//! Telling of events anew: with the same identifier and the same bytes, and the whole schedule before them.

use overnight_domain::ids::EventId;
use overnight_domain::scheduler::AccountKey;

use crate::store::database::sql;
use crate::store::{Store, StoreError};

/// What became of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replay {
    /// There is no such event.
    Unknown,
    /// It is being sent in this moment.
    Sending,
    /// It is due.
    Due,
}

/// Makes an event due at `now`, whatever became of it before.
pub async fn replay(store: &Store, id: EventId, now: i64) -> Result<Replay, StoreError> {
    let mut connection = store.connect().await?;
    let text = "UPDATE events SET state = 0, failures = 0, due_at = ?, ended_at = NULL WHERE id = ? AND owner IS NULL";
    if connection.execute(sql(text).bind(now).bind(id.to_bytes())).await? == 1 {
        return Ok(Replay::Due);
    }
    let found = connection.fetch(sql("SELECT 1 FROM events WHERE id = ?").bind(id.to_bytes())).await?;
    Ok(if found.is_empty() { Replay::Unknown } else { Replay::Sending })
}

/// Makes every event of an account due that was given up and is no test; how many.
pub async fn replay_exhausted(store: &Store, account: AccountKey, now: i64) -> Result<u64, StoreError> {
    let mut connection = store.connect().await?;
    let text = "UPDATE events SET state = 0, failures = 0, due_at = ?, ended_at = NULL WHERE account = ? AND state = 2 AND kind <> 5";
    connection.execute(sql(text).bind(now).bind(account.0)).await
}
