//! What was deleted is gone from the files of the data folder too.
//!
//! Three places hold it for a while. The page that held it: SQLite overwrites it in the transaction that deletes (`secure_delete`).
//! The write-ahead log, which holds older states of pages until it is written over: it is copied into the database and emptied.
//! Copies that SQLite left between the cells of pages when it balanced a tree (`database/leftovers.rs`): every page is read for
//! them. This comes after deletions, in a worker, and again after each start, because a process that ended early may have left
//! the first two undone. PostgreSQL has its own VACUUM.

pub(in crate::store) mod progress;

use crate::store::database::leftovers::{self, PAGES_MAX};
use crate::store::database::{Connection, Deletions, Dialect, Row, Tx, Value, statements};
use crate::store::{Store, StoreError};

/// Pages that are read at once: a MiB of them, as pages usually are.
const PAGES_AT_ONCE: u32 = 256;

statements! {
    /// A database that vacuums itself has pages of another kind, which look like those of a tree.
    COUNT_PAGES = { sqlite: "SELECT page_count, (SELECT auto_vacuum FROM pragma_auto_vacuum) AS auto_vacuum FROM pragma_page_count" };
    /// Changes where another process has written.
    OTHERS = { sqlite: "SELECT data_version FROM pragma_data_version" };
    PAGE over [Integer] = { sqlite: "SELECT pgno, data FROM sqlite_dbpage WHERE pgno = ?1" };
    OVERWRITE over [Bytes, Integer] = { sqlite: "UPDATE sqlite_dbpage SET data = ?1 WHERE pgno = ?2" };
}

impl Store {
    /// For how long, in milliseconds, something that was deleted has been in a file at most; 0 where no file holds what this process
    /// deleted, and none held what others had when that was looked at last. `None` on PostgreSQL. It reads nothing.
    pub fn erasure_waited_ms(&self, now: i64) -> Option<i64> {
        let deletions = self.database().deletions()?.count();
        Some(self.erasure_progress().waited_ms(deletions, now))
    }
}

/// Notes, for [`Store::erasure_waited_ms`], that all of `deleted` is in no file, which was deleted by `at`, in milliseconds.
pub fn note_erased(store: &Store, deleted: Deleted, at: i64) {
    store.erasure_progress().note_erased(deleted.deletions, at);
}

/// Notes, for [`Store::erasure_waited_ms`], that something waits.
pub fn note_waiting(store: &Store) {
    store.erasure_progress().note_waiting();
}

/// All that was deleted by some moment, by this process and by others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deleted {
    deletions: u64,
    others: i64,
}

/// What was deleted until now; `None` on PostgreSQL. It is another after each commit that deletes, and, in the answer of a process that
/// serves, after each that another process writes.
///
/// # Errors
/// Only what the store could not do.
pub async fn deleted(store: &Store) -> Result<Option<Deleted>, StoreError> {
    let Some(deletions) = store.database().deletions().map(Deletions::count) else { return Ok(None) };
    // Asked on the connection that writes: what this process writes does not change it.
    let others = store.transaction(async |tx| {
        let rows = tx.fetch(OTHERS.unbound()).await?;
        rows.first().ok_or(StoreError::Damaged("the version of the data"))?.get("data_version")
    });
    Ok(Some(Deleted { deletions, others: others.await? }))
}

/// Empties the write-ahead log, once all of it is in the database; whether that was possible. While a reader needs the log it is not, and
/// may be tried again. It keeps the writer for a moment only.
///
/// # Errors
/// Only what the store could not do.
pub async fn truncate_log(store: &Store) -> Result<bool, StoreError> {
    if store.dialect() == Dialect::Postgres {
        return Ok(true);
    }
    // Most is copied while the writer goes on.
    let mut beside = store.database().connect_beside().await?;
    beside.copy_log().await?;
    match store.writer().takes_transactions() {
        true => store.writer().truncate_log().await,
        false => beside.truncate_log().await,
    }
}

/// A pass over all pages that the database had when it began.
#[derive(Debug)]
pub struct Sweep {
    reader: Connection,
    next: u32,
    last: u32,
}

impl Sweep {
    /// Begins one; `None` on PostgreSQL, and where pages cannot be told apart ([`PAGES_MAX`]).
    ///
    /// # Errors
    /// Only what the store could not do.
    pub async fn begin(store: &Store) -> Result<Option<Self>, StoreError> {
        if store.dialect() == Dialect::Postgres {
            return Ok(None);
        }
        let mut reader = store.database().connect_reader().await?;
        let counted = reader.fetch_one(COUNT_PAGES.unbound()).await?;
        let last = u32::try_from(counted.get::<i64>("page_count")?).unwrap_or(PAGES_MAX);
        let vacuums_itself = counted.get::<i64>("auto_vacuum")? != 0;
        Ok((last < PAGES_MAX && !vacuums_itself).then_some(Self { reader, next: 1, last }))
    }

    /// Looks at the next pages, and overwrites what is left between their cells: how many pages had something. `None` once all have
    /// been looked at.
    ///
    /// # Errors
    /// Only what the store could not do; the same pages come again.
    pub async fn step(&mut self, store: &Store) -> Result<Option<usize>, StoreError> {
        if self.next > self.last {
            return Ok(None);
        }
        let behind = self.next.saturating_add(PAGES_AT_ONCE).min(self.last + 1);
        let pages = (self.next..behind).map(|page| i64::from(page).into()).collect();
        let mut found = Vec::new();
        for row in &self.reader.fetch(PAGE.over([], pages)).await? {
            let (number, page) = read(row)?;
            if leftovers::has_some(page, number) {
                found.push(i64::from(number));
            }
        }
        let cleared = found.len();
        if !found.is_empty() {
            store.transaction(async move |tx| clear(found, tx).await).await?;
        }
        self.next = behind;
        Ok(Some(cleared))
    }
}

/// Overwrites what is left on these pages as they are now.
async fn clear(pages: Vec<i64>, tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let mut cleared: Vec<Value> = Vec::with_capacity(2 * pages.len());
    for row in &tx.fetch(PAGE.over([], pages.into_iter().map(Value::from).collect())).await? {
        let (number, page) = read(row)?;
        let mut page = page.to_vec();
        if leftovers::clear(&mut page, number) {
            cleared.extend([page.into(), i64::from(number).into()]);
        }
    }
    tx.execute(OVERWRITE.over([], cleared)).await?;
    Ok(())
}

fn read(row: &Row) -> Result<(u32, &[u8]), StoreError> {
    let number = u32::try_from(row.get::<i64>("pgno")?).map_err(|_| StoreError::DamagedColumn("pgno"))?;
    Ok((number, row.get("data")?))
}
