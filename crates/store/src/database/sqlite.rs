//! A connection to SQLite: a statement is a function call on the thread that makes it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use overnight_base::encryption::Keyring;
use overnight_base::private_files;
use overnight_base::supervision::Supervisor;
use rusqlite::config::DbConfig;
use rusqlite::{CachedStatement, Connection, ErrorCode, InterruptHandle, OpenFlags, StatementStatus};

use crate::database::page::{ColumnNames, PageWriter};
use crate::database::row::{Row, SqliteRow};
use crate::database::statement::Statement;
use crate::database::value::Value;

/// Wait for another process that writes.
const BUSY: Duration = Duration::from_secs(5);

/// Wait for readers when the log is emptied, during which no one writes.
const TRUNCATE_BUSY: Duration = Duration::from_millis(20);
const STATEMENTS_KEPT: usize = 512;

const VACUUM: &str = "VACUUM";
const TRUNCATE: &str = "PRAGMA wal_checkpoint(TRUNCATE)";

/// Pages of the write-ahead log before it is copied.
pub(super) const LOG_PAGES: i32 = 4_000;

/// Room of a page before its rows are known, at most.
const SLOTS_AHEAD: usize = 16 << 10;
const BYTES_AHEAD: usize = 1 << 20;

/// Cache of a writer: it returns to the same pages all over the tables.
const WRITER_CACHE_KIB: i64 = 64 << 10;

/// Cache of a reader: a long list passes every page once, and the system caches them anyway.
const READER_CACHE_KIB: i64 = 1 << 10;

#[derive(Debug, Clone)]
pub(crate) struct SqliteOptions {
    pub(super) path: PathBuf,
    /// Of a new file.
    pub(super) page_bytes: u32,
    /// Whether a commit survives a loss of power, not only the end of the process.
    pub(super) is_durable: bool,
    pub(super) is_read_only: bool,
    /// Whether it never changes while open; then it is read without its log.
    pub(super) is_frozen: bool,
    pub(super) keyring: Arc<Keyring>,
    /// Of the connections' threads.
    pub(super) supervisor: Arc<Supervisor>,
}

/// Runs one thing at a time.
pub(crate) struct Sqlite {
    connection: Connection,
    /// By the address and length of the statement's static text.
    answers: HashMap<(usize, usize), Answer>,
    keyring: Arc<Keyring>,
}

struct Answer {
    columns: ColumnNames,
    /// Values and bytes of its last page, as an estimate for the next.
    slots: usize,
    bytes: usize,
}

impl std::fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sqlite").finish_non_exhaustive()
    }
}

impl SqliteOptions {
    /// Creates an absent file, if it may write.
    pub(super) fn open(&self) -> rusqlite::Result<Sqlite> {
        if self.is_read_only {
            return self.open_with(OpenFlags::SQLITE_OPEN_READ_ONLY);
        }
        self.make_private()?;
        self.open_with(OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// The file must exist: one that was removed is not created again.
    pub(super) fn open_again(&self) -> rusqlite::Result<Sqlite> {
        self.open_with(match self.is_read_only {
            true => OpenFlags::SQLITE_OPEN_READ_ONLY,
            false => OpenFlags::SQLITE_OPEN_READ_WRITE,
        })
    }

    fn open_with(&self, mode: OpenFlags) -> rusqlite::Result<Sqlite> {
        // Each connection is used by one thread at a time.
        let connection = match self.is_frozen {
            true => Connection::open_with_flags(frozen_uri(&self.path), mode | FROZEN)?,
            false => Connection::open_with_flags(&self.path, mode | OpenFlags::SQLITE_OPEN_NO_MUTEX)?,
        };
        let sqlite = Sqlite::over(connection, Arc::clone(&self.keyring))?;
        self.prepare(&sqlite.connection)?;
        Ok(sqlite)
    }

    /// Creates an absent file for its owner only: SQLite would let all users read it, and gives the log the same mode.
    fn make_private(&self) -> rusqlite::Result<()> {
        // An existing file must not be opened: closing it would drop this process's locks. If it cannot be created, SQLite says why.
        private_files::create_new(&self.path).map_or(Ok(()), |_| self.sync_names())
    }

    /// Makes the names of the file and its log survive a loss of power. SQLite syncs the folder too, but ignores failures.
    fn sync_names(&self) -> rusqlite::Result<()> {
        if !self.is_durable {
            return Ok(());
        }
        let folder = private_files::folder_of(&self.path);
        private_files::sync_folder(folder).map_err(|error| {
            let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR_DIR_FSYNC);
            let message = format!("the folder {} cannot be synced: {error}", folder.display());
            rusqlite::Error::SqliteFailure(code, Some(message))
        })
    }

    fn prepare(&self, connection: &Connection) -> rusqlite::Result<()> {
        let set = |name: &str, value: &dyn rusqlite::ToSql| connection.pragma_update(None, name, value);
        // Plans that depend on bound values would be made again for every page of a list.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        let cache_kib = if self.is_read_only { READER_CACHE_KIB } else { WRITER_CACHE_KIB };
        set("foreign_keys", &"off")?;
        set("temp_store", &"memory")?;
        // Pages if positive, KiB if negative.
        set("cache_size", &-cache_kib)?;
        if !self.is_read_only {
            set("page_size", &self.page_bytes)?;
            connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
            set("synchronous", &if self.is_durable { "full" } else { "off" })?;
            connection.pragma_update_and_check(None, "wal_autocheckpoint", LOG_PAGES, |_| Ok(()))?;
            // Deleted data is overwritten, in free pages too; `fast` would leave those.
            connection.pragma_update_and_check(None, "secure_delete", "on", |_| Ok(()))?;
            // The first read creates the log.
            connection.pragma_query_value(None, "schema_version", |_| Ok(()))?;
            self.sync_names()?;
        }
        Ok(())
    }
}

impl Sqlite {
    fn over(connection: Connection, keyring: Arc<Keyring>) -> rusqlite::Result<Self> {
        connection.busy_timeout(BUSY)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
        Ok(Self { connection, answers: HashMap::new(), keyring })
    }

    /// Returns the number of rows touched.
    pub(super) fn execute(&mut self, statement: &Statement) -> rusqlite::Result<u64> {
        let mut prepared = self.connection.prepare_cached(statement.sqlite_text())?;
        let mut touched = 0;
        for (shared, row) in statement.executions() {
            bind(&mut prepared, shared, row)?;
            touched += prepared.raw_execute()?;
        }
        statement.note(touched, || Some(prepared.reset_status(StatementStatus::VmStep)));
        Ok(touched as u64)
    }

    /// The rows are of one state of the database.
    pub(super) fn fetch(&mut self, statement: &Statement) -> rusqlite::Result<Vec<Row>> {
        let text = statement.sqlite_text();
        // Otherwise each execution would be a transaction, with an empty cache after every other write.
        let is_alone = statement.executions().nth(1).is_none() || !self.connection.is_autocommit();
        let snapshot = if is_alone { None } else { Some(self.connection.unchecked_transaction()?) };
        let mut prepared = self.connection.prepare_cached(text)?;
        let answer = self.answers.entry((text.as_ptr().addr(), text.len()));
        let answer = answer.or_insert_with(|| Answer { columns: names_of(&prepared), slots: 0, bytes: 0 });
        let width = answer.columns.len();
        let mut page = PageWriter::with_capacity(Arc::clone(&answer.columns), answer.slots, answer.bytes);
        for (shared, row) in statement.executions() {
            bind(&mut prepared, shared, row)?;
            let mut rows = prepared.raw_query();
            while let Some(row) = rows.next()? {
                for column in 0..width {
                    page.push(row.get_ref(column)?, &self.keyring);
                }
            }
        }
        if let Some(snapshot) = snapshot {
            snapshot.commit()?;
        }
        let page = Arc::new(page.finish());
        statement.note(page.rows(), || Some(prepared.reset_status(StatementStatus::VmStep)));
        let (slots, bytes) = page.lengths();
        (answer.slots, answer.bytes) = (slots.min(SLOTS_AHEAD), bytes.min(BYTES_AHEAD));
        let row = |number| Row::Sqlite(SqliteRow::new(Arc::clone(&page), number));
        Ok((0..page.rows()).map(row).collect())
    }

    /// Several statements without values or results.
    pub(super) fn run(&self, text: &str) -> rusqlite::Result<()> {
        self.connection.execute_batch(text)
    }

    /// Copies the whole log into the database and empties its file; `false` if a reader needs the log.
    pub(super) fn truncate_log(&self) -> rusqlite::Result<bool> {
        self.connection.busy_timeout(TRUNCATE_BUSY)?;
        let done = self.connection.query_row(TRUNCATE, [], |row| row.get::<_, i64>(0));
        self.connection.busy_timeout(BUSY)?;
        match done {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Ok(false),
            done => Ok(done? == 0),
        }
    }

    /// Rewrites the database; its copy is an unnamed file in `folder`, gone with the process.
    pub(super) fn vacuum(&self, folder: &Path) -> rusqlite::Result<()> {
        // Memory may not suffice, and the system's temporary folder may be in memory.
        self.connection.pragma_update(None, "temp_store", "file")?;
        self.connection.pragma_update(None, "temp_store_directory", folder.to_string_lossy().as_ref())?;
        self.connection.execute_batch(VACUUM)
    }

    /// Ends the current statement, from another thread.
    pub(super) fn interrupt_handle(&self) -> InterruptHandle {
        self.connection.get_interrupt_handle()
    }

    pub(crate) const fn inner(&mut self) -> &mut Connection {
        &mut self.connection
    }
}

/// Flags for a [`frozen_uri`].
pub(super) const FROZEN: OpenFlags = OpenFlags::SQLITE_OPEN_URI.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

/// Names the file as unchanging: SQLite takes no lock, and creates no log.
pub(super) fn frozen_uri(path: &Path) -> String {
    let mut uri = if path.is_absolute() { "file://".to_owned() } else { "file:".to_owned() };
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' => uri.push(char::from(*byte)),
            _ if byte.is_ascii_alphanumeric() => uri.push(char::from(*byte)),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri + "?immutable=1"
}

/// The file that SQLite keeps beside a database.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

fn names_of(statement: &CachedStatement<'_>) -> ColumnNames {
    statement.column_names().map(Box::from).collect()
}

fn bind(statement: &mut CachedStatement<'_>, shared: &[Value], row: &[Value]) -> rusqlite::Result<()> {
    for (place, value) in shared.iter().chain(row).enumerate() {
        statement.raw_bind_parameter(place + 1, value)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::sql;

    #[test]
    fn a_path_stands_in_a_uri_with_all_that_would_mean_something_there_escaped() {
        assert_eq!(frozen_uri(Path::new("/a b/50%?#.db")), "file:///a%20b/50%25%3F%23.db?immutable=1");
        assert_eq!(frozen_uri(Path::new("data/overnight.db")), "file:data/overnight.db?immutable=1");
    }

    #[test]
    fn a_statement_is_planned_once_whatever_is_bound() {
        const TEXT: &str = "SELECT name FROM sqlite_schema LIMIT ?";
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("test.db");
        let options = SqliteOptions {
            path,
            page_bytes: 4_096,
            is_durable: false,
            is_read_only: false,
            is_frozen: false,
            keyring: Arc::default(),
            supervisor: Arc::default(),
        };
        let mut sqlite = options.open().expect("a file");
        for limit in 1i64..4 {
            sqlite.fetch(&sql(TEXT).bind(limit)).expect("a read");
        }
        let prepared = sqlite.connection.prepare_cached(TEXT).expect("a statement");
        assert_eq!(prepared.get_status(StatementStatus::RePrepare), 0);
    }
}
