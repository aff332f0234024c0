//! Nodes. A heartbeat renews all leases of its node in one row. If it stops, the leases return to the queue, and the node's late writes
//! have no effect.

use crate::database::{Connection, Dialect, Statement, Tx, in_transaction, statements};
use crate::outbox;
use crate::writer::{Job, Operation, WriteClass};
use crate::writes::{Node, WriteOrder, WriteTransaction};
use crate::{Store, StoreError};

statements! {
    /// Reads the whole queue, as a start does anyway to count it: every lease and settle would write an index of leased rows.
    RECLAIM_ALL = { sqlite: "UPDATE queue SET phase = 0 /* waiting */, node = NULL WHERE phase = 1 /* leased */" };
    DELETE_ALL = { sqlite: "DELETE FROM nodes" };
    DELETE_ALL_COMMIT_MARKERS = { sqlite: "DELETE FROM commit_markers" };
    /// Nodes that share a PostgreSQL compare heartbeats by the database's clock.
    REGISTER = {
        sqlite: "INSERT INTO nodes (name, schedules, heartbeat_at) VALUES (?, ?, ?) RETURNING seq",
        postgres: "INSERT INTO nodes (name, schedules, heartbeat_at)
            VALUES (?, ?, (extract(epoch FROM clock_timestamp()) * 1000)::bigint + 0 * ?::bigint) RETURNING seq",
    };
    INSERT_COMMIT_MARKER = "INSERT INTO commit_markers (node, number) VALUES (?, 0)";
    HEARTBEAT = {
        sqlite: "INSERT INTO nodes (seq, name, schedules, heartbeat_at) VALUES (?, ?, ?, ?)
            ON CONFLICT (seq) DO UPDATE SET heartbeat_at = excluded.heartbeat_at",
        postgres: "INSERT INTO nodes (seq, name, schedules, heartbeat_at)
            VALUES (?, ?, ?, (extract(epoch FROM clock_timestamp()) * 1000)::bigint + 0 * ?::bigint)
            ON CONFLICT (seq) DO UPDATE SET heartbeat_at = excluded.heartbeat_at",
    };
    /// Nodes with a heartbeat older than a time (SQLite) or an age (PostgreSQL).
    STALE = {
        sqlite: "SELECT seq FROM nodes WHERE heartbeat_at < ? AND seq <> ?",
        postgres: "SELECT seq FROM nodes
            WHERE heartbeat_at < (extract(epoch FROM clock_timestamp()) * 1000)::bigint - ?::bigint AND seq <> ?
            FOR UPDATE SKIP LOCKED",
    };
    RECLAIM = "UPDATE queue SET phase = 0 /* waiting */, node = NULL WHERE phase = 1 /* leased */ AND node = ?";
    DELETE = "DELETE FROM nodes WHERE seq = ?";
    DELETE_REPLICAS = "DELETE FROM node_replicas WHERE node = ?";
}

/// Registers this node. A folder has one server at a time, so a start reclaims every lease found there.
pub(crate) async fn begin(
    connection: &mut Connection,
    name: &str,
    schedules: bool,
    now: i64,
) -> Result<Node, StoreError> {
    let work = async |tx: &mut Tx<'_>| {
        if tx.dialect() == Dialect::Sqlite {
            tx.execute(RECLAIM_ALL.unbound()).await?;
            outbox::interrupt_all(tx).await?;
            tx.execute(DELETE_ALL.unbound()).await?;
            tx.execute(DELETE_ALL_COMMIT_MARKERS.unbound()).await?;
        }
        let rows = tx.fetch(REGISTER.bind(name).bind(schedules).bind(now)).await?;
        let key = rows.first().ok_or(StoreError::Damaged("a registered node"))?.get("seq")?;
        tx.execute(INSERT_COMMIT_MARKER.bind(key)).await?;
        Ok(Node { key, name: name.to_owned(), schedules })
    };
    in_transaction(connection, work).await
}

/// Renews every lease of this node. On PostgreSQL it bypasses the writer, so that no long group delays it.
pub async fn heartbeat(store: &Store, now: i64) -> Result<(), StoreError> {
    match (store.dialect(), store.node()) {
        (Dialect::Postgres, Some(node)) => store.readers().fetch_all(heartbeat_of(node, now)).await.map(drop),
        _ => store.writer().write(Heartbeat { now }).await,
    }
}

fn heartbeat_of(node: &Node, now: i64) -> Statement {
    HEARTBEAT.bind(node.key).bind(node.name.as_str()).bind(node.schedules).bind(now)
}

/// Removes nodes whose heartbeat is older than `lease_ms`; returns the number of reclaimed leases.
pub async fn reclaim_stale(store: &Store, now: i64, lease_ms: i64) -> Result<u64, StoreError> {
    store.writer().write(ReclaimLeases { now, lease_ms }).await
}

pub(crate) struct Heartbeat {
    now: i64,
}

impl Operation for Heartbeat {
    type Answer = ();
    const CLASS: WriteClass = WriteClass::Control;
    const ORDER: WriteOrder = WriteOrder::Heartbeat;

    async fn apply(jobs: &[Job<Self>], write: &mut WriteTransaction<'_>) -> Result<Vec<()>, StoreError> {
        let now = jobs.iter().map(|job| job.operation.now).max().unwrap_or(0);
        write.tx.execute(heartbeat_of(write.node, now)).await?;
        Ok(vec![(); jobs.len()])
    }
}

pub(crate) struct ReclaimLeases {
    now: i64,
    lease_ms: i64,
}

impl Operation for ReclaimLeases {
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
                count += reclaim(row.get("seq")?, write).await?;
            }
            counts.push(count);
        }
        Ok(counts)
    }
}

/// Reclaims a node's leases and replicas and removes it; returns the number of leases.
async fn reclaim(node: i64, write: &mut WriteTransaction<'_>) -> Result<u64, StoreError> {
    let count = write.tx.execute(RECLAIM.bind(node)).await?;
    outbox::interrupt(node, &mut write.tx).await?;
    write.tx.execute(DELETE.bind(node)).await?;
    write.tx.execute(DELETE_REPLICAS.bind(node)).await?;
    Ok(count)
}

/// Releases everything that this node holds, so that peers need not wait until its lease expires.
pub async fn leave(store: &Store) -> Result<(), StoreError> {
    store.writer().write(ReleaseAll).await
}

pub(crate) struct ReleaseAll;

impl Operation for ReleaseAll {
    type Answer = ();
    const CLASS: WriteClass = WriteClass::Control;
    const ORDER: WriteOrder = WriteOrder::ReleaseAll;

    async fn apply(jobs: &[Job<Self>], write: &mut WriteTransaction<'_>) -> Result<Vec<()>, StoreError> {
        reclaim(write.node.key, write).await?;
        Ok(vec![(); jobs.len()])
    }
}
