//! Registered nodes and their leases, to see whether any of them died.

use crate::database::{Row, statements};
use crate::{Store, StoreError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeStatus {
    pub name: String,
    pub schedules: bool,
    /// Time since its last heartbeat, on PostgreSQL by the database's clock.
    pub silent_ms: i64,
    pub leased: i64,
}

statements! {
    LIST = {
        sqlite: "SELECT n.name, n.schedules, ? - n.heartbeat_at AS silent_ms, coalesce(l.leased, 0) AS leased
            FROM nodes n LEFT JOIN (SELECT node, count(*) AS leased FROM queue
                WHERE phase = 1 /* leased */ GROUP BY node) l ON l.node = n.seq
            ORDER BY n.name, n.seq",
        postgres: "SELECT n.name, n.schedules,
                (extract(epoch FROM clock_timestamp()) * 1000)::bigint - n.heartbeat_at + 0 * ?::bigint AS silent_ms,
                coalesce(l.leased, 0) AS leased
            FROM nodes n LEFT JOIN (SELECT node, count(*) AS leased FROM queue
                WHERE phase = 1 /* leased */ GROUP BY node) l ON l.node = n.seq
            ORDER BY n.name, n.seq",
    };
    COUNT_ORPHANED = "SELECT count(*) AS count FROM queue
        WHERE phase = 1 /* leased */ AND node NOT IN (SELECT seq FROM nodes)";
}

/// By name. Reads the whole queue.
pub async fn list(store: &Store, now: i64) -> Result<Vec<NodeStatus>, StoreError> {
    store.readers().fetch_all(LIST.bind(now)).await?.iter().map(read).collect()
}

/// Requests leased to unregistered nodes. Reads the whole queue.
pub async fn count_orphaned(store: &Store) -> Result<i64, StoreError> {
    store.readers().fetch_one(COUNT_ORPHANED.unbound()).await?.get("count")
}

fn read(row: &Row) -> Result<NodeStatus, StoreError> {
    Ok(NodeStatus {
        name: row.get("name")?,
        schedules: row.get("schedules")?,
        silent_ms: row.get("silent_ms")?,
        leased: row.get("leased")?,
    })
}
