//! Taking a backup of a running service.
//!
//! One read transaction sees the database as of one moment, whatever is written and checkpointed meanwhile, and reads its pages through
//! `sqlite_dbpage` (<https://www.sqlite.org/dbpage.html>). SQLite's online backup would write the whole database a second time before
//! anything could be compared.

use std::collections::{HashSet, VecDeque};
use std::thread::available_parallelism;

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::database::{Connection, migrations, statements};
use crate::operations::backup::chunks::{Digest, Stored};
use crate::operations::backup::errors::BackupError;
use crate::operations::backup::manifest::{Manifest, Summary};
use crate::operations::backup::pruning::{Keep, prune};
use crate::operations::backup::repository::Repository;
use crate::operations::{integrity, own_schema};
use crate::{Store, StoreError};

/// Pages compared and stored together: usually 256 KiB.
const CHUNK_PAGES: u32 = 64;

statements! {
    /// The database's size in this transaction.
    SIZE = { sqlite: "SELECT page_count, page_size FROM pragma_page_count, pragma_page_size" };
    PAGE over [Integer] = { sqlite: "SELECT data FROM sqlite_dbpage WHERE pgno = ?1" };
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    pub summary: Summary,
    /// Files that were damaged and written again.
    pub repaired_chunks: u64,
}

/// Backs up the store of a data folder while the service continues. `now` is its stamp, to be read right before: everything acknowledged
/// earlier is in it. The pages are checked as of the same moment, and chunks that the repository has are read and compared. Fails for
/// PostgreSQL and for a damaged store; then there is no such backup.
pub fn take<'a>(
    store: &'a Store,
    repository: &'a Repository,
    now: i64,
) -> BoxFuture<'a, Result<Taken, BackupError>> {
    // Boxed, so that it is compiled once here, not in each program.
    Box::pin(async move {
        if store.is_shared() {
            return Err(BackupError::OnServer);
        }
        let mut reader = store.readers().take().await?;
        reader.begin_snapshot().await?;
        let image = checked_copy(&mut reader, repository).await;
        reader.execute_all("ROLLBACK").await?;
        reader.give_back();
        let taken = image.and_then(|image| keep(image, repository, now));
        taken.inspect_err(|why| give_up(repository, why))
    })
}

fn keep(image: Image, repository: &Repository, now: i64) -> Result<Taken, BackupError> {
    let Image { schema, page_bytes, pages, chunks, new_bytes, repaired_chunks } = image;
    let summary = Summary {
        id: free_name(repository, now)?,
        taken_at: now,
        release: env!("CARGO_PKG_VERSION").to_owned(),
        schema,
        bytes: u64::from(page_bytes) * u64::from(pages),
        new_bytes,
    };
    let manifest = Manifest::new(summary, page_bytes, CHUNK_PAGES, chunks);
    repository.chunks().settle()?;
    repository.add(&manifest)?;
    Ok(Taken { summary: manifest.summary, repaired_chunks })
}

/// Removes the files of a failed backup; on a full disk, also chunks that no backup has.
fn give_up(repository: &Repository, why: &BackupError) {
    let mut removed = repository.chunks().begin();
    if why.is_full_disk() {
        let all = Keep { newest: usize::MAX, days: 0 };
        removed = removed.and_then(|()| prune(repository, all, None).map(drop));
    }
    if let Err(error) = removed {
        tracing::debug!(%error, "what is left of a backup stays until the next");
    }
}

/// A backup name for `now`, or the next free one: the clock may have been set back.
fn free_name(repository: &Repository, now: i64) -> Result<String, BackupError> {
    let taken: HashSet<_> = repository.names()?.into_iter().map(|name| name.id).collect();
    let mut names = (now..).map(name_of);
    Ok(names.find(|name| !taken.contains(name)).unwrap_or_default())
}

/// The stamp; names sort by time.
fn name_of(now: i64) -> String {
    let at = Timestamp::from_millisecond(now).unwrap_or(Timestamp::UNIX_EPOCH);
    at.strftime("%Y%m%dT%H%M%S.%3fZ").to_string()
}

struct Image {
    schema: i64,
    page_bytes: u32,
    pages: u32,
    chunks: Vec<Digest>,
    new_bytes: u64,
    repaired_chunks: u64,
}

/// [`copy`], if the pages that `reader`'s transaction sees form a valid database, which a restore accepts.
async fn checked_copy(reader: &mut Connection, repository: &Repository) -> Result<Image, BackupError> {
    let schema = migrations::version(reader).await?;
    // Another program may have changed the schema since the store was opened.
    migrations::OURS.check(schema)?;
    own_schema::check_in(reader, schema).await?;
    integrity::check_in(reader).await?;
    copy(reader, repository, schema).await
}

/// Stores every page that `reader`'s transaction sees.
async fn copy(reader: &mut Connection, repository: &Repository, schema: i64) -> Result<Image, BackupError> {
    let size = reader.fetch_one(SIZE.unbound()).await?;
    let number =
        |column| u32::try_from(size.get::<i64>(column)?).map_err(|_| StoreError::DamagedColumn(column));
    let (pages, page_bytes) = (number("page_count")?, number("page_size")?);
    let mut image = Image { schema, page_bytes, pages, chunks: Vec::new(), new_bytes: 0, repaired_chunks: 0 };
    // To spare the service: half of the cores compress, and no more than the disk can take.
    let at_once = available_parallelism().map_or(1, |cores| (cores.get() / 2).clamp(1, 4));
    let mut under_way: VecDeque<JoinHandle<Result<Stored, BackupError>>> = VecDeque::new();
    let mut first = 1;
    while first <= pages {
        let behind = first.saturating_add(CHUNK_PAGES).min(pages + 1);
        let bytes = read_pages(reader, first..behind, page_bytes).await?;
        if under_way.len() == at_once
            && let Some(chunk) = under_way.pop_front()
        {
            image.add(chunk).await?;
        }
        let chunks = repository.chunks().clone();
        under_way.push_back(spawn_blocking(move || chunks.store(&bytes)));
        first = behind;
    }
    for chunk in under_way {
        image.add(chunk).await?;
    }
    Ok(image)
}

async fn read_pages(
    reader: &mut Connection,
    pages: std::ops::Range<u32>,
    page_bytes: u32,
) -> Result<Vec<u8>, BackupError> {
    let rows =
        reader.fetch(PAGE.over([], pages.clone().map(|page| i64::from(page).into()).collect())).await?;
    let length = pages.len() * page_bytes as usize;
    let mut bytes = Vec::with_capacity(length);
    for row in &rows {
        bytes.extend_from_slice(row.get("data").map_err(BackupError::Store)?);
    }
    if bytes.len() == length { Ok(bytes) } else { Err(StoreError::Damaged("a page has another size").into()) }
}

impl Image {
    async fn add(&mut self, chunk: JoinHandle<Result<Stored, BackupError>>) -> Result<(), BackupError> {
        let Stored { digest, new_bytes, is_repaired } = chunk.await.map_err(|_| StoreError::Stopped)??;
        self.chunks.push(digest);
        self.new_bytes += new_bytes;
        self.repaired_chunks += u64::from(is_repaired);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn names_stand_in_the_order_of_stamps() {
        assert_eq!(name_of(1_795_209_243_512), "20261120T211403.512Z");
        assert!(name_of(999) < name_of(1_000) && name_of(-1) < name_of(0));
    }

    #[test]
    fn full_disk_keeps_no_chunk_that_no_backup_has() {
        let folder = tempfile::tempdir().expect("a folder");
        let repository = Repository::open_to_write(folder.path()).expect("a repository");
        let store = |bytes: &[u8]| repository.chunks().store(bytes).expect("a chunk");
        store(b"settled");
        repository.chunks().settle().expect("a chunk");
        store(b"under way");
        let full = |kind: io::ErrorKind| BackupError::file(folder.path())(kind.into());
        give_up(&repository, &full(io::ErrorKind::PermissionDenied));
        assert_eq!(repository.chunks().present().expect("chunks").len(), 1);
        assert!(store(b"under way").new_bytes > 0, "none was left of it");
        for kind in [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded] {
            store(b"settled");
            repository.chunks().settle().expect("a chunk");
            give_up(&repository, &full(kind));
            assert!(repository.chunks().present().expect("chunks").is_empty());
        }
    }
}
