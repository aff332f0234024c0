//! What belongs to this installation and is made once.

use sqlx::{Row, SqliteConnection};

use super::error::StoreError;

/// The secret under which sort keys are made; drawn by the database itself the first time.
pub(super) async fn sort_key_secret(connection: &mut SqliteConnection) -> Result<[u8; 32], StoreError> {
    let text = "INSERT INTO settings (name, value) VALUES ('sort_key_secret', randomblob(32)) ON CONFLICT DO NOTHING";
    sqlx::query(text).execute(&mut *connection).await?;
    let row = sqlx::query("SELECT value FROM settings WHERE name = 'sort_key_secret'")
        .fetch_one(connection)
        .await?;
    row.try_get::<&[u8], _>(0)?
        .try_into()
        .map_err(|_| StoreError::Damaged("the sort key secret is not 32 bytes"))
}
