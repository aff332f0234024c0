//! Processes that lease. A heartbeat renews all leases of its process in one row; leases of a process whose heart
//! stopped go back to the queue, and whatever it still writes touches nothing.

use sqlx::{Row, SqliteConnection};

use super::writer::{Job, Lane, Operation, Unit};
use super::{Store, StoreError};

/// A process, by row number; never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OwnerKey(pub(super) i64);

/// Reads the whole queue, as a start does anyway to count it: an index of leased rows would be written by every lease
/// and every settle.
const VOID_ALL: &str = "UPDATE queue SET phase = 0, owner = NULL WHERE phase = 1";

/// Registers this process. The folder has one server at a time, so every lease found is void at once.
pub(super) async fn begin(connection: &mut SqliteConnection, now: i64) -> Result<OwnerKey, StoreError> {
    sqlx::query(VOID_ALL).execute(&mut *connection).await?;
    sqlx::query("DELETE FROM owners").execute(&mut *connection).await?;
    let text = "INSERT INTO owners (heartbeat_at) VALUES (?) RETURNING seq";
    Ok(OwnerKey(sqlx::query(text).bind(now).fetch_one(connection).await?.try_get(0)?))
}

/// Renews every lease of this process.
pub async fn beat(store: &Store, now: i64) -> Result<(), StoreError> {
    store.writer().write(Heartbeat { now }).await
}

/// Gives back the leases of other processes that have not beaten since `stale_before`; how many.
pub async fn void_stale(store: &Store, stale_before: i64) -> Result<u64, StoreError> {
    store.writer().write(VoidLeases { stale_before }).await
}

pub(super) struct Heartbeat {
    now: i64,
}

impl Operation for Heartbeat {
    type Answer = ();
    const LANE: Lane = Lane::Control;

    async fn apply(jobs: &[Job<Self>], unit: &mut Unit<'_>) -> Result<Vec<()>, StoreError> {
        let now = jobs.iter().map(|job| job.operation.now).max().unwrap_or(0);
        let text = "INSERT INTO owners (seq, heartbeat_at) VALUES (?, ?)
                    ON CONFLICT (seq) DO UPDATE SET heartbeat_at = excluded.heartbeat_at";
        unit.tx.execute(sqlx::query(text).bind(unit.owner.0).bind(now)).await?;
        Ok(vec![(); jobs.len()])
    }
}

pub(super) struct VoidLeases {
    stale_before: i64,
}

impl Operation for VoidLeases {
    type Answer = u64;
    const LANE: Lane = Lane::Control;

    async fn apply(jobs: &[Job<Self>], unit: &mut Unit<'_>) -> Result<Vec<u64>, StoreError> {
        let mut counts = Vec::with_capacity(jobs.len());
        for job in jobs {
            let stale_before = job.operation.stale_before;
            let stale = "SELECT 1 FROM owners WHERE heartbeat_at < ? AND seq <> ? LIMIT 1";
            let stale = sqlx::query(stale).bind(stale_before).bind(unit.owner.0);
            if unit.tx.fetch(stale).await?.is_empty() {
                counts.push(0);
                continue;
            }
            let void = "UPDATE queue SET phase = 0, owner = NULL WHERE phase = 1 AND owner IN
                        (SELECT seq FROM owners WHERE heartbeat_at < ? AND seq <> ?)";
            counts.push(unit.tx.execute(sqlx::query(void).bind(stale_before).bind(unit.owner.0)).await?);
            let forget = "DELETE FROM owners WHERE heartbeat_at < ? AND seq <> ?";
            unit.tx.execute(sqlx::query(forget).bind(stale_before).bind(unit.owner.0)).await?;
        }
        Ok(counts)
    }
}
