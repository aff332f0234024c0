//! Delivery attempts whose node died. Their outcome is unknown, so they are repeated immediately and do not count in the schedule.

use crate::StoreError;
use crate::database::{Dialect, Tx, statements};

/// The failure of such an attempt.
const INTERRUPTED: &str = "interrupted";

statements! {
    NOTE = { sqlite: "INSERT INTO deliveries (event, number, account, started_at, failure)
        SELECT seq, number, account, claimed_at, ? FROM events WHERE node = ?" };
    RELEASE = { sqlite: "UPDATE events SET due_at = claimed_at, node = NULL WHERE node = ?" };
    /// One statement, so that a concurrent result is recorded entirely before or after it.
    ON_POSTGRES = { postgres: "WITH back AS (
            UPDATE events SET due_at = claimed_at, node = NULL WHERE node = ? RETURNING seq, number, account, claimed_at
        ) INSERT INTO deliveries (event, number, account, started_at, failure)
          SELECT seq, number, account, claimed_at, ? FROM back" };
    NOTE_ALL = { sqlite: "INSERT INTO deliveries (event, number, account, started_at, failure)
        SELECT seq, number, account, claimed_at, ? FROM events WHERE node IS NOT NULL" };
    RELEASE_ALL = { sqlite: "UPDATE events SET due_at = claimed_at, node = NULL WHERE node IS NOT NULL" };
}

/// Releases the events that a node was sending.
pub(crate) async fn interrupt(node: i64, tx: &mut Tx<'_>) -> Result<(), StoreError> {
    match tx.dialect() {
        Dialect::Sqlite => {
            tx.execute(NOTE.bind(INTERRUPTED).bind(node)).await?;
            tx.execute(RELEASE.bind(node)).await?;
        }
        Dialect::Postgres => {
            tx.execute(ON_POSTGRES.bind(node).bind(INTERRUPTED)).await?;
        }
    }
    Ok(())
}

/// Releases every event being sent: a folder has one server at a time, which has just started.
pub(crate) async fn interrupt_all(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    tx.execute(NOTE_ALL.bind(INTERRUPTED)).await?;
    tx.execute(RELEASE_ALL.unbound()).await?;
    Ok(())
}
