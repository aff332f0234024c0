//! Values of this installation that are drawn once.

use crate::database::{Connection, in_transaction, statements};
use crate::error::StoreError;

statements! {
    /// PostgreSQL's strong randomness is available as UUIDs: version and variant take six of 128 bits.
    INSERT_SORT_KEY_SECRET = {
        sqlite: "INSERT INTO settings (name, value) VALUES ('sort_key_secret', coalesce(?, randomblob(32)))
            ON CONFLICT DO NOTHING",
        postgres: "INSERT INTO settings (name, value) VALUES ('sort_key_secret', coalesce(?::bytea,
                sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))))
            ON CONFLICT DO NOTHING",
    };
    FIND_SORT_KEY_SECRET = "SELECT value FROM settings WHERE name = 'sort_key_secret'";
}

/// The secret of sort keys, if it was drawn.
pub(crate) async fn find_secret(connection: &mut Connection) -> Result<Option<[u8; 32]>, StoreError> {
    let rows = connection.fetch(FIND_SORT_KEY_SECRET.unbound()).await?;
    rows.first().map(|row| row.get("value")).transpose()
}

/// The secret of sort keys; the first time, `given` or drawn by the database.
pub(crate) async fn sort_key_secret(
    connection: &mut Connection,
    given: Option<[u8; 32]>,
) -> Result<[u8; 32], StoreError> {
    // A read-only database has it.
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
