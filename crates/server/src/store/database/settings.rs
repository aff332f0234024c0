//! What belongs to this installation and is made once.

use crate::store::database::{Connection, in_transaction, statements};
use crate::store::error::StoreError;

statements! {
    /// PostgreSQL's strong source of chance shows itself as UUIDs: a version and a variant take six of 128 bits.
    INSERT_SORT_KEY_SECRET = {
        sqlite: "INSERT INTO settings (name, value) VALUES ('sort_key_secret', coalesce(?, randomblob(32)))
            ON CONFLICT DO NOTHING",
        postgres: "INSERT INTO settings (name, value) VALUES ('sort_key_secret', coalesce(?::bytea,
                sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))))
            ON CONFLICT DO NOTHING",
    };
    FIND_SORT_KEY_SECRET = "SELECT value FROM settings WHERE name = 'sort_key_secret'";
}

/// The secret under which sort keys are made, where it was drawn.
pub(in crate::store) async fn find_secret(
    connection: &mut Connection,
) -> Result<Option<[u8; 32]>, StoreError> {
    let rows = connection.fetch(FIND_SORT_KEY_SECRET.unbound()).await?;
    rows.first().map(|row| row.get("value")).transpose()
}

/// The secret under which sort keys are made: `given` or else drawn by the database itself, the first time.
pub(in crate::store) async fn sort_key_secret(
    connection: &mut Connection,
    given: Option<[u8; 32]>,
) -> Result<[u8; 32], StoreError> {
    // A database that is only read has it.
    if let Some(secret) = find_secret(connection).await? {
        return Ok(secret);
    }
    let given = given.map(|secret| secret.to_vec());
    let found = in_transaction(connection, async move |tx| {
        tx.execute(INSERT_SORT_KEY_SECRET.bind(given)).await?;
        tx.fetch(FIND_SORT_KEY_SECRET.unbound()).await
    });
    let rows = found.await?;
    rows.first().ok_or(StoreError::Damaged("the sort key secret"))?.get("value")
}
