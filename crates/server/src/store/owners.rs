//! Processes that lease. A heartbeat renews all leases of its process in one row; leases of a process whose heart
//! stopped go back to the queue, and whatever it still writes touches nothing.

use super::database::{Connection, Dialect, Statement, sql, sql_each};
use super::events;
use super::writer::{Job, Lane, Operation, Unit};
use super::{Store, StoreError};

/// A process that leases.
#[derive(Debug, Clone)]
pub(super) struct Owner {
    /// Its row number, never used twice.
    pub(super) key: i64,
    /// What people call it.
    pub(super) name: String,
    /// Whether it drives engines.
    pub(super) schedules: bool,
}

/// Reads the whole queue, as a start does anyway to count it: an index of leased rows would be written by every lease
/// and every settle.
const VOID_ALL: &str = "UPDATE queue SET phase = 0, owner = NULL WHERE phase = 1";

/// The time by which hearts are judged. Where processes of several machines share the database, it is the database's.
macro_rules! judged_now {
    () => {
        "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
    };
}

/// Registers this process, which people know by `name`. A folder has one server at a time, so every lease found there is
/// void at once.
pub(super) async fn begin(
    connection: &mut Connection,
    name: &str,
    schedules: bool,
    now: i64,
) -> Result<Owner, StoreError> {
    if connection.dialect() == Dialect::Sqlite {
        connection.execute(sql(VOID_ALL)).await?;
        events::interrupt_all(connection).await?;
        connection.execute(sql("DELETE FROM owners")).await?;
        connection.execute(sql("DELETE FROM commits")).await?;
    }
    let insert = sql_each(
        "INSERT INTO owners (name, schedules, heartbeat_at) VALUES (?, ?, ?) RETURNING seq",
        concat!(
            "INSERT INTO owners (name, schedules, heartbeat_at) VALUES (?, ?, ",
            judged_now!(),
            " + 0 * ?::bigint) RETURNING seq"
        ),
    );
    let row = connection.fetch_one(insert.bind(name).bind(schedules).bind(now)).await?;
    let key: i64 = row.get(0)?;
    connection.execute(sql("INSERT INTO commits (owner, number) VALUES (?, 0)").bind(key)).await?;
    Ok(Owner { key, name: name.to_owned(), schedules })
}

/// Renews every lease of this process. Where other nodes judge its heart, no long group of writes holds a beat up.
pub async fn beat(store: &Store, now: i64) -> Result<(), StoreError> {
    match (store.dialect(), store.owner()) {
        (Dialect::Postgres, Some(owner)) => store.readers().fetch_all(owner.beat(now)).await.map(drop),
        _ => store.writer().write(Heartbeat { now }).await,
    }
}

impl Owner {
    fn beat(&self, now: i64) -> Statement {
        let beat = sql_each(
            "INSERT INTO owners (seq, name, schedules, heartbeat_at) VALUES (?, ?, ?, ?)
             ON CONFLICT (seq) DO UPDATE SET heartbeat_at = excluded.heartbeat_at",
            concat!(
                "INSERT INTO owners (seq, name, schedules, heartbeat_at) VALUES (?, ?, ?, ",
                judged_now!(),
                " + 0 * ?::bigint) ON CONFLICT (seq) DO UPDATE SET heartbeat_at = excluded.heartbeat_at"
            ),
        );
        beat.bind(self.key).bind(self.name.as_str()).bind(self.schedules).bind(now)
    }
}

/// Gives back the leases of other processes whose heart has not beaten for `lease_ms`; how many.
pub async fn void_stale(store: &Store, now: i64, lease_ms: i64) -> Result<u64, StoreError> {
    store.writer().write(VoidLeases { now, lease_ms }).await
}

pub(super) struct Heartbeat {
    now: i64,
}

impl Operation for Heartbeat {
    type Answer = ();
    const LANE: Lane = Lane::Control;

    async fn apply(jobs: &[Job<Self>], unit: &mut Unit<'_>) -> Result<Vec<()>, StoreError> {
        let now = jobs.iter().map(|job| job.operation.now).max().unwrap_or(0);
        unit.tx.execute(unit.owner.beat(now)).await?;
        Ok(vec![(); jobs.len()])
    }
}

pub(super) struct VoidLeases {
    now: i64,
    lease_ms: i64,
}

const STALE: (&str, &str) = (
    "SELECT seq FROM owners WHERE heartbeat_at < ? AND seq <> ?",
    concat!(
        "SELECT seq FROM owners WHERE heartbeat_at < ",
        judged_now!(),
        " - ?::bigint AND seq <> ? FOR UPDATE SKIP LOCKED"
    ),
);

impl Operation for VoidLeases {
    type Answer = u64;
    const LANE: Lane = Lane::Control;

    async fn apply(jobs: &[Job<Self>], unit: &mut Unit<'_>) -> Result<Vec<u64>, StoreError> {
        let mut counts = Vec::with_capacity(jobs.len());
        for Job { operation: Self { now, lease_ms }, .. } in jobs {
            let bound = match unit.tx.dialect() {
                Dialect::Sqlite => now - lease_ms,
                Dialect::Postgres => *lease_ms,
            };
            let stale = sql_each(STALE.0, STALE.1).bind(bound).bind(unit.owner.key);
            let mut count = 0;
            for row in unit.tx.fetch(stale).await? {
                count += forget(row.get(0)?, unit).await?;
            }
            counts.push(count);
        }
        Ok(counts)
    }
}

/// Gives back the leases of a process, and forgets it; how many leases. The engine replicas that it drove are free.
async fn forget(owner: i64, unit: &mut Unit<'_>) -> Result<u64, StoreError> {
    let void = sql("UPDATE queue SET phase = 0, owner = NULL WHERE phase = 1 AND owner = ?");
    let count = unit.tx.execute(void.bind(owner)).await?;
    events::interrupt(owner, &mut unit.tx).await?;
    unit.tx.execute(sql("DELETE FROM owners WHERE seq = ?").bind(owner)).await?;
    unit.tx.execute(sql("DELETE FROM drivers WHERE owner = ?").bind(owner)).await?;
    Ok(count)
}

/// Gives back everything that this process holds, so that others need not wait until its lease has run out.
pub async fn leave(store: &Store) -> Result<(), StoreError> {
    store.writer().write(Farewell).await
}

pub(super) struct Farewell;

impl Operation for Farewell {
    type Answer = ();
    const LANE: Lane = Lane::Control;

    async fn apply(jobs: &[Job<Self>], unit: &mut Unit<'_>) -> Result<Vec<()>, StoreError> {
        forget(unit.owner.key, unit).await?;
        Ok(vec![(); jobs.len()])
    }
}
