//! Restoring a backup: into a folder of its own, audited before anything can serve it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::available_parallelism;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream;
use overnight_base::file_owner::leave_to_owner;
use overnight_base::private_files;
use serde::Serialize;
use tokio::task::spawn_blocking;

use crate::database::folder::{FolderLock, LOCK_FILE, prepare_folder};
use crate::database::{Connection, Database, migrations, settings, statements};
use crate::installation;
use crate::operations::backup::errors::BackupError;
use crate::operations::backup::files;
use crate::operations::backup::manifest::{Manifest, Summary};
use crate::operations::backup::repository::Repository;
use crate::operations::{audit, integrity, own_schema};
use crate::options::DATABASE_FILE;
use crate::{StoreError, StoreOptions};

/// The database's place until it was audited.
const RESTORING: &str = "restoring";

statements! {
    COUNTS = {
        sqlite: "SELECT (SELECT count(*) FROM requests) AS requests,
                        (SELECT coalesce(sum(live_requests), 0) FROM accounts) AS live_requests,
                        (SELECT count(*) FROM events WHERE state = 0 /* waiting */) AS waiting_events,
                        (SELECT count(*) FROM objects WHERE state = 1 /* in use */) AS objects",
    };
}

/// What to do with a database that breaks rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnBreach {
    Refuse,
    /// Restore it, and report the breaches.
    Tell,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Restored {
    pub backup: Summary,
    /// The database's schema now.
    pub schema: i64,
    pub requests: i64,
    /// A service will run them.
    pub live_requests: i64,
    /// A service will send them.
    pub waiting_events: i64,
    /// Objects in use, which no backup contains.
    pub objects: i64,
    pub rules: usize,
    /// Broken rules, with the number of rows.
    pub breaches: Vec<(&'static str, i64)>,
}

/// Restores a backup, the newest without an `id`, into the data folder of `options`, which must hold no database and is created if absent.
/// Every byte is compared with its digest, and the database is audited, before it gets its name: a service that starts earlier is refused.
/// After an error the folder holds no database.
pub fn restore<'a>(
    repository: &'a Repository,
    id: Option<&'a str>,
    options: &'a StoreOptions,
    on_breach: OnBreach,
) -> BoxFuture<'a, Result<Restored, BackupError>> {
    // Boxed, so that it is compiled once here, not in each program.
    Box::pin(async move {
        if options.server_url.is_some() {
            return Err(BackupError::OnServer);
        }
        let manifest = repository.find(id)?;
        migrations::OURS.check(manifest.summary.schema)?;
        let folder = &options.folder;
        prepare_folder(folder)?;
        let lock = FolderLock::take(folder)?;
        refuse_occupied(folder)?;
        let place = Place::make(folder)?;
        let (restored, secret) = rebuild(repository, manifest, &place.database(), on_breach).await?;
        if let Some(secret) = secret {
            installation::note(folder, &secret)?;
        }
        place.settle(folder)?;
        drop(lock);
        Ok(restored)
    })
}

/// Restores a backup, the newest without an `id`, into a new folder inside `scratch`, audits it, and deletes it again. `scratch` needs room
/// for the database. Broken rules are reported, not errors.
pub fn check<'a>(
    repository: &'a Repository,
    id: Option<&'a str>,
    scratch: &'a Path,
) -> BoxFuture<'a, Result<Restored, BackupError>> {
    Box::pin(async move {
        let manifest = repository.find(id)?;
        migrations::OURS.check(manifest.summary.schema)?;
        let folder = tempfile::Builder::new().prefix("overnight-check-").tempdir_in(scratch);
        let folder = folder.map_err(BackupError::file(scratch))?;
        let database = folder.path().join(DATABASE_FILE);
        Ok(rebuild(repository, manifest, &database, OnBreach::Tell).await?.0)
    })
}

/// Assembles a backup's pages in a new file, and checks the database, see [`look_at`].
async fn rebuild(
    repository: &Repository,
    manifest: Manifest,
    path: &Path,
    on_breach: OnBreach,
) -> Result<(Restored, Option<[u8; 32]>), BackupError> {
    let mut file = private_files::create_new(path).map_err(BackupError::file(path))?;
    read(repository, &manifest, |bytes| file.write_all(bytes).map_err(BackupError::file(path))).await?;
    file.sync_all().map_err(BackupError::file(path))?;
    drop(file);
    look_at(path, manifest, on_breach).await
}

async fn read(
    repository: &Repository,
    manifest: &Manifest,
    mut take: impl FnMut(&[u8]) -> Result<(), BackupError>,
) -> Result<(), BackupError> {
    let at_once = available_parallelism().map_or(1, |cores| cores.get().min(8));
    let loads = manifest.chunks.iter().copied().enumerate().map(|(place, digest)| {
        let (chunks, length) = (repository.chunks().clone(), manifest.length_of(place));
        // Begun when it is polled: a stream polls so many at once.
        async move { spawn_blocking(move || chunks.load(digest, length)).await }
    });
    let mut chunks = stream::iter(loads).buffered(at_once);
    while let Some(chunk) = chunks.next().await {
        take(&chunk.map_err(|_| StoreError::Stopped)??)?;
    }
    Ok(())
}

/// SQLite would read a leftover log into the restored database.
fn refuse_occupied(folder: &Path) -> Result<(), BackupError> {
    let found = files::names_in(folder)?.into_iter().find(|name| name.starts_with(DATABASE_FILE));
    match found {
        Some(name) => Err(BackupError::Occupied { path: folder.join(name).display().to_string() }),
        None => Ok(()),
    }
}

/// Brings the schema up to date, and checks the rules; also returns the secret by which the folder knows its database.
async fn look_at(
    path: &Path,
    manifest: Manifest,
    on_breach: OnBreach,
) -> Result<(Restored, Option<[u8; 32]>), BackupError> {
    // On the calling thread, so that the file is closed, and its log gone, when the connection is dropped.
    let mut connection = Database::file(path, manifest.page_bytes, true, Arc::default()).connect().await?;
    check_whole(&mut connection, manifest.summary.schema).await.map_err(|error| match error {
        fault if fault.is_damage() || matches!(fault, StoreError::OtherSchema(_)) => {
            BackupError::DamagedDatabase { what: fault.to_string() }
        }
        error => error.into(),
    })?;
    let (_, schema) = migrations::OURS.run(&mut connection).await?;
    connection.begin_snapshot().await?;
    let checks = audit::recount(&mut connection).await?;
    let counts = connection.fetch_one(COUNTS.unbound()).await?;
    connection.execute_all("ROLLBACK").await?;
    let broken = checks.iter().filter(|check| check.breaches > 0);
    let breaches: Vec<_> = broken.map(|check| (check.rule, check.breaches)).collect();
    if let (OnBreach::Refuse, Some(&(rule, breaches))) = (on_breach, breaches.first()) {
        return Err(BackupError::Unsound { rule, breaches });
    }
    let secret = settings::find_secret(&mut connection).await?;
    let restored = Restored {
        backup: manifest.summary,
        schema,
        requests: counts.get("requests")?,
        live_requests: counts.get("live_requests")?,
        waiting_events: counts.get("waiting_events")?,
        objects: counts.get("objects")?,
        rules: checks.len(),
        breaches,
    };
    Ok((restored, secret))
}

/// The schema first: a writer to the repository may have added views and triggers, which the later statements would read or run.
async fn check_whole(connection: &mut Connection, schema: i64) -> Result<(), StoreError> {
    own_schema::check_in(connection, schema).await?;
    match migrations::version(connection).await? {
        found if found == schema => integrity::check_in(connection).await,
        found => Err(StoreError::OtherSchema(format!("its number is {found} instead of {schema}"))),
    }
}

/// A folder inside the data folder for the restore, deleted on drop.
struct Place(PathBuf);

impl Place {
    fn make(folder: &Path) -> Result<Self, BackupError> {
        let place = Self(folder.join(RESTORING));
        // Remnants of a killed restore.
        place.clear();
        files::make_folder(&place.0)?;
        Ok(place)
    }

    fn database(&self) -> PathBuf {
        self.0.join(DATABASE_FILE)
    }

    fn settle(self, folder: &Path) -> Result<(), BackupError> {
        let (from, to) = (self.database(), folder.join(DATABASE_FILE));
        for path in [&from, &folder.join(LOCK_FILE)] {
            leave_to_owner(folder, path).map_err(BackupError::file(path))?;
        }
        fs::rename(&from, &to).map_err(BackupError::file(&to))?;
        files::sync_folder(folder)
    }

    fn clear(&self) {
        // Remnants block whatever is created next, and that reports why.
        _ = fs::remove_dir_all(&self.0);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.clear();
    }
}
