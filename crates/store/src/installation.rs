//! The number of an installation. The folder and its database carry the same number, so that neither is used with another's. It is drawn
//! from the secret of sort keys, which every served database has, as do its backups and exports.

use std::fs;
use std::io;
use std::path::Path;

use overnight_base::file_owner::leave_to_owner;
use overnight_base::private_files;
use ring::digest::{SHA256, digest};

use crate::database::migrations;
use crate::database::ownership::{self, Found};
use crate::options::DATABASE_FILE;
use crate::{StoreError, StoreOptions, access};

/// In the data folder.
pub const INSTALLATION_FILE: &str = "overnight.id";

/// The first API key, in the data folder.
pub const KEY_FILE: &str = "api-key";

const REMEDY_OF_FILE: &str = "put its own database back, restore a backup (`overnight restore`), or name another folder (`--data-dir`)";
const REMEDY_OF_SERVER: &str =
    "name the database that it was used with in `database_url`, or another folder (`--data-dir`)";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To serve it: it is created if absent, and brought up to date.
    Serve,
    /// For a command that changes something: as to serve it, beside a service or without one.
    Change,
    /// For a command that reads. It is neither created nor migrated.
    Read,
    /// To fill it by an import, which binds the folder to its database.
    Fill,
}

/// Checks that the database may be opened, before anything is written or created; returns the number of its schema, 0 for none.
pub(super) async fn check(options: &StoreOptions, purpose: Purpose) -> Result<i64, StoreError> {
    if options.server_url.is_none() {
        access::check_files(&options.folder, purpose != Purpose::Read)?;
    }
    let found = ownership::look(&options.database()?).await?;
    check_number(options, purpose, &found)?;
    let (found, known) = (found.version, migrations::NEWEST);
    migrations::OURS.check(found)?;
    match purpose {
        Purpose::Read if found < known => Err(StoreError::Outdated { found, known }),
        _ => Ok(found),
    }
}

/// A service joins a server's database with a folder of its own. Commands use no file of the folder there.
fn check_number(options: &StoreOptions, purpose: Purpose, found: &Found) -> Result<(), StoreError> {
    let is_due = match purpose {
        Purpose::Serve => true,
        Purpose::Change | Purpose::Read => options.server_url.is_none(),
        Purpose::Fill => false,
    };
    if !is_due {
        return Ok(());
    }
    let folder = options.folder.display().to_string();
    let (database, remedy) = match options.server_url {
        None => (options.folder.join(DATABASE_FILE).display().to_string(), REMEDY_OF_FILE),
        Some(_) => ("the database of `database_url`".to_owned(), REMEDY_OF_SERVER),
    };
    match (noted(&options.folder)?, found.secret.as_ref().map(number_of)) {
        (Some(noted), Some(number)) if noted != number => {
            Err(StoreError::OtherInstallation { folder, database, remedy })
        }
        (Some(_), None) => Err(StoreError::Lost { folder, database, remedy }),
        // The number was removed, but the key kept.
        (None, None) if found.version == 0 && options.folder.join(KEY_FILE).exists() => {
            Err(StoreError::Lost { folder, database, remedy })
        }
        _ => Ok(()),
    }
}

/// Whether the folder was used with a database.
pub fn is_used(folder: &Path) -> bool {
    [INSTALLATION_FILE, KEY_FILE].iter().any(|name| folder.join(name).exists())
}

/// Notes in the folder the number of the database with this secret.
pub(super) fn note(folder: &Path, secret: &[u8; 32]) -> Result<(), StoreError> {
    let number = number_of(secret);
    if noted(folder)?.as_ref() == Some(&number) {
        return Ok(());
    }
    let path = folder.join(INSTALLATION_FILE);
    let written = private_files::replace(&path, format!("{number}\n").as_bytes());
    written.and_then(|()| leave_to_owner(folder, &path)).map_err(failed(&path))
}

/// `None` if it has none yet.
fn noted(folder: &Path) -> Result<Option<String>, StoreError> {
    let path = folder.join(INSTALLATION_FILE);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(Some(text.trim().to_owned()).filter(|number| !number.is_empty())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(&path)(error)),
    }
}

fn failed(path: &Path) -> impl Fn(io::Error) -> StoreError {
    move |source| StoreError::File { path: path.display().to_string(), source }
}

fn number_of(secret: &[u8; 32]) -> String {
    let secret = [b"the number of an installation", &secret[..]].concat();
    digest(&SHA256, &secret).as_ref().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
