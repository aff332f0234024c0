//! The schema's number, and updates without serving.
//!
//! One file is the schema. `crates/store/migrations/` has a file for each database, the first migration, which creates all of it; SQLite's
//! file describes the tables, PostgreSQL has that as comments. Later releases add numbered files (`store/database/migrations.rs`). Schemas
//! with lower numbers were never released, and are refused.

use crate::database::Connection;
use crate::database::folder::prepare_folder;
use crate::database::migrations::{self, Migrations};
use crate::installation::{self, Purpose};
use crate::{FolderLock, StoreError, StoreOptions};

/// A database's schema before and after: the number of its newest migration, 0 if it is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schema {
    pub found: i64,
    pub now: i64,
    pub newest: i64,
}

/// Reads only.
pub async fn read(options: &StoreOptions) -> Result<Schema, StoreError> {
    let newest = migrations::NEWEST;
    let found = installation::check(options, Purpose::Change).await?;
    Ok(Schema { found, now: found, newest })
}

/// Updates the store of `options`, or creates it. On PostgreSQL older programs may run meanwhile. An older schema in a folder changes only
/// while the folder is not served: a program there knows only its own schema.
pub async fn bring_up_to_date(options: &StoreOptions) -> Result<Schema, StoreError> {
    bring_to(&migrations::OURS, options).await
}

/// To the newest schema of `migrations`.
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

/// A connection, up to date; the folder is not served until the lock is dropped.
pub(super) async fn open_alone(
    options: &StoreOptions,
    purpose: Purpose,
) -> Result<(Connection, Option<FolderLock>), StoreError> {
    let mut connection = connect(options, purpose).await?;
    let lock = take_folder(options)?;
    migrations::OURS.run(&mut connection).await?;
    Ok((connection, lock))
}

/// Creates the folder and its file if they are missing and needed.
async fn connect(options: &StoreOptions, purpose: Purpose) -> Result<Connection, StoreError> {
    installation::check(options, purpose).await?;
    if options.server_url.is_none() {
        prepare_folder(&options.folder)?;
    }
    options.database()?.connect().await
}

/// `None` if the database is on a server.
fn take_folder(options: &StoreOptions) -> Result<Option<FolderLock>, StoreError> {
    match options.server_url {
        None => FolderLock::take(&options.folder).map(Some),
        Some(_) => Ok(None),
    }
}
