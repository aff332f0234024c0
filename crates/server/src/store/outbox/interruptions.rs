//! Tries whose process died. Nobody knows whether their receivers heard of them, so they are made again at once, and count
//! for nothing in the schedule.

use crate::store::StoreError;
use crate::store::database::{Dialect, Tx, statements};

/// Why nothing is known of such a try.
const INTERRUPTED: &str = "interrupted";

statements! {
    NOTE = { sqlite: "INSERT INTO deliveries (event, number, account, started_at, failure)
        SELECT seq, number, account, claimed_at, ? FROM events WHERE node = ?" };
    GIVE_BACK = { sqlite: "UPDATE events SET due_at = claimed_at, node = NULL WHERE node = ?" };
    /// Both at once: who has concluded the try meanwhile comes first or last.
    ON_POSTGRES = { postgres: "WITH back AS (
            UPDATE events SET due_at = claimed_at, node = NULL WHERE node = ? RETURNING seq, number, account, claimed_at
        ) INSERT INTO deliveries (event, number, account, started_at, failure)
          SELECT seq, number, account, claimed_at, ? FROM back" };
    NOTE_ALL = { sqlite: "INSERT INTO deliveries (event, number, account, started_at, failure)
        SELECT seq, number, account, claimed_at, ? FROM events WHERE node IS NOT NULL" };
    GIVE_ALL_BACK = { sqlite: "UPDATE events SET due_at = claimed_at, node = NULL WHERE node IS NOT NULL" };
}

/// Gives back the events that a process was sending.
pub(in crate::store) async fn interrupt(node: i64, tx: &mut Tx<'_>) -> Result<(), StoreError> {
    match tx.dialect() {
        Dialect::Sqlite => {
            tx.execute(NOTE.bind(INTERRUPTED).bind(node)).await?;
            tx.execute(GIVE_BACK.bind(node)).await?;
        }
        Dialect::Postgres => {
            tx.execute(ON_POSTGRES.bind(node).bind(INTERRUPTED)).await?;
        }
    }
    Ok(())
}

/// Gives back every event that is being sent: a folder has one server at a time, and this is the next one.
pub(in crate::store) async fn interrupt_all(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    tx.execute(NOTE_ALL.bind(INTERRUPTED)).await?;
    tx.execute(GIVE_ALL_BACK.unbound()).await?;
    Ok(())
}
