//! Whether the pages of the database read as they were written.

use crate::store::database::{Connection, Dialect, statements};
use crate::store::{Store, StoreError};

statements! {
    /// The first fault of the pages, in words. In a database with views SQLite looks at the free pages only if it is asked for its schema.
    CHECK = {
        sqlite: "SELECT quick_check AS said FROM pragma_quick_check WHERE quick_check <> 'ok' \
         UNION ALL SELECT quick_check FROM pragma_quick_check('sqlite_schema') WHERE quick_check <> 'ok' LIMIT 1"
    };
    /// Pages whose checksum was wrong since the server's statistics were reset; NULL if the server has no checksums.
    CHECKSUM_FAILURES = {
        postgres: "SELECT coalesce(checksum_failures, 0) AS failures FROM pg_stat_database WHERE datname = current_database()"
    };
}

/// Reads every page of the database and checks that they belong together. PostgreSQL tells the failures of its checksums
/// instead, if it has them.
///
/// # Errors
/// [`StoreError::DamagedPages`] with the first fault.
pub async fn check(store: &Store) -> Result<(), StoreError> {
    let mut reader = store.readers().take().await?;
    check_in(&mut reader).await?;
    reader.give_back();
    Ok(())
}

/// [`check`] in the transaction under way, if there is one.
pub(in crate::store) async fn check_in(connection: &mut Connection) -> Result<(), StoreError> {
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
