//! A connection to SQLite: a statement is a function call on the thread that makes it.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use overnight_base::encryption::Keyring;
use overnight_base::supervision::Supervisor;
use rusqlite::config::DbConfig;
use rusqlite::{CachedStatement, Connection, ErrorCode, InterruptHandle, OpenFlags, StatementStatus};

use crate::store::database::page::{ColumnNames, PageWriter};
use crate::store::database::row::{Row, SqliteRow};
use crate::store::database::statement::Statement;
use crate::store::database::value::Value;

/// How long a statement waits for another process that writes.
const BUSY: Duration = Duration::from_secs(5);

/// How long the emptying of the log waits for readers, which nobody writes beside.
const TRUNCATE_BUSY: Duration = Duration::from_millis(20);
const STATEMENTS_KEPT: usize = 512;

const VACUUM: &str = "VACUUM";
const TRUNCATE: &str = "PRAGMA wal_checkpoint(TRUNCATE)";

/// How long the write-ahead log may get before it is copied, in pages.
pub(super) const LOG_PAGES: i32 = 4_000;

/// The most room that a page gets before its rows are known.
const SLOTS_AHEAD: usize = 16 << 10;
const BYTES_AHEAD: usize = 1 << 20;

/// Pages that who writes keeps, in KiB: it comes back to the same ones from all over the tables.
const WRITER_CACHE_KIB: i64 = 64 << 10;

/// Pages that each reader keeps, in KiB: a long list passes every page once, and the system's cache has them anyway.
const READER_CACHE_KIB: i64 = 1 << 10;

/// Where the file is, and how it is opened.
#[derive(Debug, Clone)]
pub(in crate::store) struct SqliteOptions {
    pub(super) path: PathBuf,
    /// Of a new file, in bytes.
    pub(super) page_bytes: u32,
    /// Whether a commit survives the loss of power, and not only the end of the process.
    pub(super) is_durable: bool,
    pub(super) is_read_only: bool,
    /// Whether nobody writes to it for as long as it is open. Then it is read without its log.
    pub(super) is_frozen: bool,
    pub(super) keyring: Arc<Keyring>,
    /// Of the threads on which connections live.
    pub(super) supervisor: Arc<Supervisor>,
}

/// A connection to SQLite, on which one thing is done at a time.
pub(in crate::store) struct Sqlite {
    connection: Connection,
    /// By the address and the length of the statement's text, which never moves.
    answers: HashMap<(usize, usize), Answer>,
    keyring: Arc<Keyring>,
}

struct Answer {
    columns: ColumnNames,
    /// How many values and bytes its last page had: the next will be about as large.
    slots: usize,
    bytes: usize,
}

impl std::fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sqlite").finish_non_exhaustive()
    }
}

impl SqliteOptions {
    /// Opens the file. To write, it is made where it is absent.
    pub(super) fn open(&self) -> rusqlite::Result<Sqlite> {
        if self.is_read_only {
            return self.open_with(OpenFlags::SQLITE_OPEN_READ_ONLY);
        }
        self.make_private();
        self.open_with(OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// Opens the file, which must be there: one that was removed meanwhile is not made again.
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

    /// Makes an absent file for its owner only: SQLite would let all read it, and gives its log the file's mode.
    fn make_private(&self) {
        let mut options = OpenOptions::new();
        // A file that exists must not be opened: closing it would drop this process's locks on it.
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        // Where it cannot be made, SQLite says why.
        _ = options.open(&self.path);
    }

    fn prepare(&self, connection: &Connection) -> rusqlite::Result<()> {
        let set = |name: &str, value: &dyn rusqlite::ToSql| connection.pragma_update(None, name, value);
        // A plan that depends on bound values is made anew whenever they are bound: at every page of a list.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        let cache_kib = if self.is_read_only { READER_CACHE_KIB } else { WRITER_CACHE_KIB };
        set("foreign_keys", &"off")?;
        set("temp_store", &"memory")?;
        // In pages if positive, in KiB if negative.
        set("cache_size", &-cache_kib)?;
        if !self.is_read_only {
            set("page_size", &self.page_bytes)?;
            connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
            set("synchronous", &if self.is_durable { "full" } else { "off" })?;
            connection.pragma_update_and_check(None, "wal_autocheckpoint", LOG_PAGES, |_| Ok(()))?;
            // What is deleted is overwritten, free pages too; `fast` would leave those.
            connection.pragma_update_and_check(None, "secure_delete", "on", |_| Ok(()))?;
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

    /// Runs a statement; the number of rows it touched.
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

    /// Runs a statement; the rows it returned, of one state of the database.
    pub(super) fn fetch(&mut self, statement: &Statement) -> rusqlite::Result<Vec<Row>> {
        let text = statement.sqlite_text();
        // Without it each execution would be a transaction, and begin with an empty cache wherever something was written since.
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

    /// Runs several statements without values or answers.
    pub(super) fn run(&self, text: &str) -> rusqlite::Result<()> {
        self.connection.execute_batch(text)
    }

    /// Copies the whole log into the database and empties its file; whether it did, and no reader needs the log.
    pub(super) fn truncate_log(&self) -> rusqlite::Result<bool> {
        self.connection.busy_timeout(TRUNCATE_BUSY)?;
        let done = self.connection.query_row(TRUNCATE, [], |row| row.get::<_, i64>(0));
        self.connection.busy_timeout(BUSY)?;
        match done {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Ok(false),
            done => Ok(done? == 0),
        }
    }

    /// Writes the database anew; its copy has no name in `folder`, and is gone with the process.
    pub(super) fn vacuum(&self, folder: &Path) -> rusqlite::Result<()> {
        // In memory it may have no room, and the system's own folder for such files may be one there.
        self.connection.pragma_update(None, "temp_store", "file")?;
        self.connection.pragma_update(None, "temp_store_directory", folder.to_string_lossy().as_ref())?;
        self.connection.execute_batch(VACUUM)
    }

    /// Ends, from another thread, what is under way.
    pub(super) fn interrupt_handle(&self) -> InterruptHandle {
        self.connection.get_interrupt_handle()
    }

    /// The connection itself, for what happens once.
    pub(in crate::store) const fn inner(&mut self) -> &mut Connection {
        &mut self.connection
    }
}

/// How a file is opened by its [`frozen_uri`].
pub(super) const FROZEN: OpenFlags = OpenFlags::SQLITE_OPEN_URI.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

/// Names the file as one that does not change: SQLite takes no lock, and makes no log beside it.
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
pub(in crate::store) fn beside(path: &Path, ending: &str) -> PathBuf {
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
    use crate::store::database::sql;

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
