//! Brings the schema up to date, one numbered file after the other, each in a transaction.

use sqlx::{AssertSqlSafe, Connection, Row, SqliteConnection};

use super::error::StoreError;

/// The files, in order; the first is number 1.
const FILES: [&str; 2] = [
    include_str!("../../migrations/sqlite/0001_requests.sql"),
    include_str!("../../migrations/sqlite/0002_in_progress_in_queue.sql"),
];

/// Runs what is missing. A database that is newer than this program is refused untouched.
pub(super) async fn run(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    let known = FILES.len() as i64;
    let found = version(connection).await?;
    if found > known {
        return Err(StoreError::Newer { found, known });
    }
    for (number, file) in (1i64..).zip(FILES) {
        if number <= found {
            continue;
        }
        let mut tx = connection.begin_with("BEGIN IMMEDIATE").await?;
        if version(&mut tx).await? < number {
            sqlx::raw_sql(file).execute(&mut *tx).await?;
            sqlx::raw_sql(AssertSqlSafe(format!("PRAGMA user_version = {number}"))).execute(&mut *tx).await?;
        }
        tx.commit().await?;
    }
    Ok(())
}

async fn version(connection: &mut SqliteConnection) -> Result<i64, StoreError> {
    Ok(sqlx::query("PRAGMA user_version").fetch_one(connection).await?.try_get(0)?)
}
