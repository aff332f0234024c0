//! The schema's number, and bringing it up to date without serving.
//!
//! One file is the schema. `crates/server/migrations/` has a file for each database, the first migration, which makes all of it; the
//! file of SQLite says what tables are for, PostgreSQL has that as comments. Migrations of later releases follow behind it in
//! numbered files (`store/database/migrations.rs`). A schema with a lower number was never released, and is refused.

use crate::store::database::Connection;
use crate::store::database::folder::prepare_folder;
use crate::store::database::migrations::{self, Migrations};
use crate::store::installation::{self, Purpose};
use crate::store::{FolderLock, StoreError, StoreOptions};

/// Which schema a database had and has: the number of the newest migration that it has seen, 0 where it is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schema {
    pub found: i64,
    pub now: i64,
    pub newest: i64,
}

/// Says which schema the store of `options` has, and changes nothing.
///
/// # Errors
/// The database cannot be read, is another program's, or this program does not open its schema.
pub async fn read(options: &StoreOptions) -> Result<Schema, StoreError> {
    let newest = migrations::NEWEST;
    let found = installation::check(options, Purpose::Change).await?;
    Ok(Schema { found, now: found, newest })
}

/// Brings the store of `options` up to date; makes it where there is none. On PostgreSQL older programs go on beside
/// it. An older schema in a folder changes only while nobody serves the folder: a program there knows its own alone.
///
/// # Errors
/// The database cannot be used, this program does not open its schema, or it is in a folder that a process serves with an older schema.
pub async fn bring_up_to_date(options: &StoreOptions) -> Result<Schema, StoreError> {
    bring_to(&migrations::OURS, options).await
}

/// Brings the store of `options` to the newest schema of `migrations`.
pub(super) async fn bring_to(migrations: &Migrations, options: &StoreOptions) -> Result<Schema, StoreError> {
    let mut connection = connect(options, Purpose::Change).await?;
    let found = migrations::version(&mut connection).await?;
    let is_old = (1..migrations.newest()).contains(&found);
    let lock = if is_old { take_folder(options)? } else { None };
    let (found, now) = migrations.run(&mut connection).await?;
    connection.close().await?;
    drop(lock);
    Ok(Schema { found, now, newest: migrations.newest() })
}

/// A connection to the store of `options`, up to date; nobody serves its folder until the lock is dropped.
pub(super) async fn open_alone(
    options: &StoreOptions,
    purpose: Purpose,
) -> Result<(Connection, Option<FolderLock>), StoreError> {
    let mut connection = connect(options, purpose).await?;
    let lock = take_folder(options)?;
    migrations::OURS.run(&mut connection).await?;
    Ok((connection, lock))
}

/// Makes what is not there yet of the folder and its file, unless they are not to be used.
async fn connect(options: &StoreOptions, purpose: Purpose) -> Result<Connection, StoreError> {
    installation::check(options, purpose).await?;
    if options.server_url.is_none() {
        prepare_folder(&options.folder)?;
    }
    options.database()?.connect().await
}

/// The lock of the folder, where the database is in it.
fn take_folder(options: &StoreOptions) -> Result<Option<FolderLock>, StoreError> {
    match options.server_url {
        None => FolderLock::take(&options.folder).map(Some),
        Some(_) => Ok(None),
    }
}
