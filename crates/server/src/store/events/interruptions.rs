//! Tries whose process died. Nobody knows whether their receivers heard of them, so they are made again at once, and count
//! for nothing in the schedule.

use crate::store::StoreError;
use crate::store::database::{Connection, Dialect, Tx, sql};

/// Why nothing is known of such a try.
const INTERRUPTED: &str = "interrupted";

const NOTE: &str = "INSERT INTO deliveries (event, number, account, started_at, failure)
    SELECT seq, number, account, claimed_at, ? FROM events WHERE owner = ?";
pub(in crate::store) const GIVE_BACK: &str =
    "UPDATE events SET due_at = claimed_at, owner = NULL WHERE owner = ?";

/// Both at once: who has concluded the try meanwhile comes first or last.
pub(in crate::store) const ON_POSTGRES: &str = "WITH back AS (
        UPDATE events SET due_at = claimed_at, owner = NULL WHERE owner = ? RETURNING seq, number, account, claimed_at
    ) INSERT INTO deliveries (event, number, account, started_at, failure)
      SELECT seq, number, account, claimed_at, ? FROM back";

const NOTE_ALL: &str = "INSERT INTO deliveries (event, number, account, started_at, failure)
    SELECT seq, number, account, claimed_at, ? FROM events WHERE owner IS NOT NULL";
const GIVE_ALL_BACK: &str = "UPDATE events SET due_at = claimed_at, owner = NULL WHERE owner IS NOT NULL";

/// Gives back the events that a process was sending.
pub(in crate::store) async fn interrupt(owner: i64, tx: &mut Tx<'_>) -> Result<(), StoreError> {
    match tx.dialect() {
        Dialect::Sqlite => {
            tx.execute(sql(NOTE).bind(INTERRUPTED).bind(owner)).await?;
            tx.execute(sql(GIVE_BACK).bind(owner)).await?;
        }
        Dialect::Postgres => {
            tx.execute(sql(ON_POSTGRES).bind(owner).bind(INTERRUPTED)).await?;
        }
    }
    Ok(())
}

/// The same for every process: a folder has one server at a time, and this is the next one.
pub(in crate::store) async fn interrupt_all(connection: &mut Connection) -> Result<(), StoreError> {
    let mut tx = Tx::begin(connection).await?;
    let noted = interrupt_all_in(&mut tx).await;
    tx.conclude(noted, |()| true).await
}

async fn interrupt_all_in(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    tx.execute(sql(NOTE_ALL).bind(INTERRUPTED)).await?;
    tx.execute(sql(GIVE_ALL_BACK)).await?;
    Ok(())
}
