//! Whether the database's pages are as they were written.

use crate::database::{Connection, Dialect, statements};
use crate::{Store, StoreError};

statements! {
    /// The first fault of the pages. In a database with views SQLite checks free pages only if asked for its schema.
    CHECK = {
        sqlite: "SELECT quick_check AS said FROM pragma_quick_check WHERE quick_check <> 'ok' \
         UNION ALL SELECT quick_check FROM pragma_quick_check('sqlite_schema') WHERE quick_check <> 'ok' LIMIT 1"
    };
    /// Pages with wrong checksums since the server's statistics were reset; NULL without checksums.
    CHECKSUM_FAILURES = {
        postgres: "SELECT coalesce(checksum_failures, 0) AS failures FROM pg_stat_database WHERE datname = current_database()"
    };
}

/// Reads every page of the database and checks its structure. PostgreSQL reports failed checksums instead, if it has them. Fails with
/// [`StoreError::DamagedPages`] on the first fault.
pub async fn check(store: &Store) -> Result<(), StoreError> {
    let mut reader = store.readers().take().await?;
    check_in(&mut reader).await?;
    reader.give_back();
    Ok(())
}

/// In the current transaction, if any.
pub(crate) async fn check_in(connection: &mut Connection) -> Result<(), StoreError> {
    match connection.dialect() {
        Dialect::Sqlite => match connection.fetch(CHECK.unbound()).await?.first() {
            Some(fault) => Err(StoreError::DamagedPages(fault.get::<&str>("said")?.to_owned())),
            None => Ok(()),
        },
        Dialect::Postgres => {
            let row = connection.fetch_one(CHECKSUM_FAILURES.unbound()).await?;
            match row.get::<i64>("failures")? {
                0 => Ok(()),
                failures => Err(StoreError::DamagedPages(format!("{failures} pages had a wrong checksum"))),
            }
        }
    }
}
