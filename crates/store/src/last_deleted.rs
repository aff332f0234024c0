//! Row numbers of deleted rows, so that none is given out again.

use crate::StoreError;
use crate::database::{Tx, statements};

statements! {
    NOTE_LAST = {
        sqlite: "INSERT INTO last_deleted (table_name, seq) VALUES (?, ?)
            ON CONFLICT (table_name) DO UPDATE SET seq = max(seq, excluded.seq)",
        postgres: "INSERT INTO last_deleted (table_name, seq) VALUES (?, ?)
            ON CONFLICT (table_name) DO UPDATE SET seq = greatest(last_deleted.seq, excluded.seq)",
    };
}

/// Notes a deleted row number, so that it is not given out again.
pub(crate) async fn note_last(table: &str, last: i64, tx: &mut Tx<'_>) -> Result<(), StoreError> {
    tx.execute(NOTE_LAST.bind(table).bind(last)).await.map(drop)
}
