//! Deleting events with their tries.

use crate::StoreError;
use crate::database::{Row, Tx, Value, statements};
use crate::last_deleted::note_last;

statements! {
    DELETE_DELIVERIES over [Integer] = {
        sqlite: "DELETE FROM deliveries WHERE event = ?1",
        postgres: "DELETE FROM deliveries WHERE event = ANY ($1::bigint[])",
    };
}

/// Deletes the rows of deleted events: events go first, so that no delivery is added to a deleted one.
pub(crate) async fn delete_events(deleted: &[Row], tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let events: Vec<i64> = deleted.iter().map(|row| row.get("seq")).collect::<Result<_, _>>()?;
    tx.execute(DELETE_DELIVERIES.over([], events.iter().copied().map(Value::from).collect())).await?;
    match events.into_iter().max() {
        Some(last) => note_last("events", last, tx).await,
        None => Ok(()),
    }
}
