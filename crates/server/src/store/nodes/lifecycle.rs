//! Nodes. A heartbeat renews all leases of its node in one row. The leases of a node whose heartbeat has stopped return to the
//! queue, and its late writes change nothing.

use crate::store::database::{Connection, Dialect, Statement, Tx, in_transaction, statements};
use crate::store::outbox;
use crate::store::write_transaction::{Node, WriteTransaction};
use crate::store::writer::{Job, Operation, WriteClass};
use crate::store::writes::WriteOrder;
use crate::store::{Store, StoreError};

statements! {
    /// Reads the whole queue, as a start does anyway to count it: an index of leased rows would be written by every lease
    /// and every settle.
    VOID_ALL = { sqlite: "UPDATE queue SET phase = 0 /* waiting */, node = NULL WHERE phase = 1 /* leased */" };
    FORGET_ALL = { sqlite: "DELETE FROM nodes" };
    FORGET_ALL_COMMIT_MARKERS = { sqlite: "DELETE FROM commit_markers" };
    /// Where processes of several machines share the database, hearts are judged by its time.
    REGISTER = {
        sqlite: "INSERT INTO nodes (name, schedules, heartbeat_at) VALUES (?, ?, ?) RETURNING seq",
        postgres: "INSERT INTO nodes (name, schedules, heartbeat_at)
            VALUES (?, ?, (extract(epoch FROM clock_timestamp()) * 1000)::bigint + 0 * ?::bigint) RETURNING seq",
    };
    INSERT_COMMIT_MARKER = "INSERT INTO commit_markers (node, number) VALUES (?, 0)";
    BEAT = {
        sqlite: "INSERT INTO nodes (seq, name, schedules, heartbeat_at) VALUES (?, ?, ?, ?)
            ON CONFLICT (seq) DO UPDATE SET heartbeat_at = excluded.heartbeat_at",
        postgres: "INSERT INTO nodes (seq, name, schedules, heartbeat_at)
            VALUES (?, ?, ?, (extract(epoch FROM clock_timestamp()) * 1000)::bigint + 0 * ?::bigint)
            ON CONFLICT (seq) DO UPDATE SET heartbeat_at = excluded.heartbeat_at",
    };
    /// Those whose heart has not beaten since a time; on PostgreSQL, for so long.
    STALE = {
        sqlite: "SELECT seq FROM nodes WHERE heartbeat_at < ? AND seq <> ?",
        postgres: "SELECT seq FROM nodes
            WHERE heartbeat_at < (extract(epoch FROM clock_timestamp()) * 1000)::bigint - ?::bigint AND seq <> ?
            FOR UPDATE SKIP LOCKED",
    };
    VOID = "UPDATE queue SET phase = 0 /* waiting */, node = NULL WHERE phase = 1 /* leased */ AND node = ?";
    FORGET = "DELETE FROM nodes WHERE seq = ?";
    FORGET_REPLICAS = "DELETE FROM node_replicas WHERE node = ?";
}

/// Registers this process, which people know by `name`. A folder has one server at a time, so every lease found there is
/// void at once.
pub(in crate::store) async fn begin(
    connection: &mut Connection,
    name: &str,
    schedules: bool,
    now: i64,
) -> Result<Node, StoreError> {
    let work = async |tx: &mut Tx<'_>| {
        if tx.dialect() == Dialect::Sqlite {
            tx.execute(VOID_ALL.unbound()).await?;
            outbox::interrupt_all(tx).await?;
            tx.execute(FORGET_ALL.unbound()).await?;
            tx.execute(FORGET_ALL_COMMIT_MARKERS.unbound()).await?;
        }
        let rows = tx.fetch(REGISTER.bind(name).bind(schedules).bind(now)).await?;
        let key = rows.first().ok_or(StoreError::Damaged("a process that was registered"))?.get("seq")?;
        tx.execute(INSERT_COMMIT_MARKER.bind(key)).await?;
        Ok(Node { key, name: name.to_owned(), schedules })
    };
    in_transaction(connection, work).await
}

/// Renews every lease of this process. Where other nodes judge its heart, no long group of writes holds a beat up.
pub async fn beat(store: &Store, now: i64) -> Result<(), StoreError> {
    match (store.dialect(), store.node()) {
        (Dialect::Postgres, Some(node)) => store.readers().fetch_all(beat_of(node, now)).await.map(drop),
        _ => store.writer().write(Heartbeat { now }).await,
    }
}

fn beat_of(node: &Node, now: i64) -> Statement {
    BEAT.bind(node.key).bind(node.name.as_str()).bind(node.schedules).bind(now)
}

/// Gives back the leases of other processes whose heart has not beaten for `lease_ms`; how many.
pub async fn void_stale(store: &Store, now: i64, lease_ms: i64) -> Result<u64, StoreError> {
    store.writer().write(VoidLeases { now, lease_ms }).await
}

pub(in crate::store) struct Heartbeat {
    now: i64,
}

impl Operation for Heartbeat {
    type Answer = ();
    const CLASS: WriteClass = WriteClass::Control;
    const ORDER: WriteOrder = WriteOrder::Heartbeat;

    async fn apply(jobs: &[Job<Self>], write: &mut WriteTransaction<'_>) -> Result<Vec<()>, StoreError> {
        let now = jobs.iter().map(|job| job.operation.now).max().unwrap_or(0);
        write.tx.execute(beat_of(write.node, now)).await?;
        Ok(vec![(); jobs.len()])
    }
}

pub(in crate::store) struct VoidLeases {
    now: i64,
    lease_ms: i64,
}

impl Operation for VoidLeases {
    type Answer = u64;
    const CLASS: WriteClass = WriteClass::Control;
    const ORDER: WriteOrder = WriteOrder::ReclaimLeases;

    async fn apply(jobs: &[Job<Self>], write: &mut WriteTransaction<'_>) -> Result<Vec<u64>, StoreError> {
        let mut counts = Vec::with_capacity(jobs.len());
        for Job { operation: Self { now, lease_ms }, .. } in jobs {
            let bound = match write.tx.dialect() {
                Dialect::Sqlite => now - lease_ms,
                Dialect::Postgres => *lease_ms,
            };
            let mut count = 0;
            for row in write.tx.fetch(STALE.bind(bound).bind(write.node.key)).await? {
                count += forget(row.get("seq")?, write).await?;
            }
            counts.push(count);
        }
        Ok(counts)
    }
}

/// Gives back the leases of a process, and forgets it; how many leases. The engine replicas that it drove are free.
async fn forget(node: i64, write: &mut WriteTransaction<'_>) -> Result<u64, StoreError> {
    let count = write.tx.execute(VOID.bind(node)).await?;
    outbox::interrupt(node, &mut write.tx).await?;
    write.tx.execute(FORGET.bind(node)).await?;
    write.tx.execute(FORGET_REPLICAS.bind(node)).await?;
    Ok(count)
}

/// Gives back everything that this process holds, so that others need not wait until its lease has run out.
pub async fn leave(store: &Store) -> Result<(), StoreError> {
    store.writer().write(ReleaseAll).await
}

pub(in crate::store) struct ReleaseAll;

impl Operation for ReleaseAll {
    type Answer = ();
    const CLASS: WriteClass = WriteClass::Control;
    const ORDER: WriteOrder = WriteOrder::ReleaseAll;

    async fn apply(jobs: &[Job<Self>], write: &mut WriteTransaction<'_>) -> Result<Vec<()>, StoreError> {
        forget(write.node.key, write).await?;
        Ok(vec![(); jobs.len()])
    }
}
