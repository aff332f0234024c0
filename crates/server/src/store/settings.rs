//! What belongs to this installation and is made once.

use sqlx::{Row, SqliteConnection};

use super::error::StoreError;

/// The secret under which sort keys are made: `given` or else drawn by the database itself, the first time.
pub(super) async fn sort_key_secret(
    connection: &mut SqliteConnection,
    given: Option<[u8; 32]>,
) -> Result<[u8; 32], StoreError> {
    let text = "INSERT INTO settings (name, value) VALUES ('sort_key_secret', coalesce(?, randomblob(32)))
                ON CONFLICT DO NOTHING";
    let given = given.map(|secret| secret.to_vec());
    sqlx::query(text).bind(given).execute(&mut *connection).await?;
    let row = sqlx::query("SELECT value FROM settings WHERE name = 'sort_key_secret'")
        .fetch_one(connection)
        .await?;
    row.try_get::<&[u8], _>(0)?
        .try_into()
        .map_err(|_| StoreError::Damaged("the sort key secret is not 32 bytes"))
}
