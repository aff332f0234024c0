//! What belongs to this installation and is made once.

use super::database::{Connection, sql, sql_each};
use super::error::StoreError;

/// The secret under which sort keys are made: `given` or else drawn by the database itself, the first time.
pub(super) async fn sort_key_secret(
    connection: &mut Connection,
    given: Option<[u8; 32]>,
) -> Result<[u8; 32], StoreError> {
    let insert = sql_each(
        "INSERT INTO settings (name, value) VALUES ('sort_key_secret', coalesce(?, randomblob(32)))
         ON CONFLICT DO NOTHING",
        // The server's strong source of chance shows itself as UUIDs: a version and a variant take six of 128 bits.
        "INSERT INTO settings (name, value) VALUES ('sort_key_secret', coalesce(?::bytea,
            sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))))
         ON CONFLICT DO NOTHING",
    );
    connection.execute(insert.bind(given.map(|secret| secret.to_vec()))).await?;
    let row = connection.fetch_one(sql("SELECT value FROM settings WHERE name = 'sort_key_secret'")).await?;
    row.get::<&[u8]>(0)?.try_into().map_err(|_| StoreError::Damaged("the sort key secret is not 32 bytes"))
}
