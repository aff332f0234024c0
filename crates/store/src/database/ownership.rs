//! Whether a database is ours, determined before anything is written to it.

use std::fs;
use std::io;
use std::path::Path;

use rusqlite::{Connection as Rusqlite, OpenFlags, OptionalExtension};

use crate::StoreError;
use crate::database::migrations::APPLICATION_ID;
use crate::database::sqlite::{FROZEN, SqliteOptions, beside, frozen_uri};
use crate::database::{Connection, Database, migrations, settings, statements};

const REMEDY_OF_FILE: &str = "name another folder (`--data-dir`)";
const REMEDY_OF_SERVER: &str = "name another database or schema in `database_url`";

/// Columns that [`MARKS`] and [`LOOK`] look for; every schema of ours has them.
const MARKS_MAX: i64 = 9;

statements! {
    MARKS = {
        sqlite: "SELECT (SELECT count(*) FROM pragma_table_info('requests')
                     WHERE name IN ('seq', 'id', 'account', 'model', 'created_at', 'expires_at', 'body'))
                   + (SELECT count(*) FROM pragma_table_info('settings') WHERE name IN ('name', 'value')) AS marks",
    };
    FIRST_TABLE = { sqlite: "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name LIMIT 1" };
    /// In one statement, which sees one moment: another node may be creating the schema.
    LOOK over [Text] = {
        postgres: "SELECT (SELECT count(*) FROM pg_attribute WHERE attrelid = to_regclass('schema_version')
                       AND attname IN ('version', 'applied_at')) = 2 AS is_versioned,
                     (SELECT count(*) FROM pg_attribute WHERE attrelid = to_regclass('requests')
                       AND attname IN ('seq', 'id', 'account', 'model', 'created_at', 'expires_at', 'body'))
                     + (SELECT count(*) FROM pg_attribute WHERE attrelid = to_regclass('settings')
                       AND attname IN ('name', 'value')) AS marks,
                     current_setting('server_encoding') AS encoding,
                     (SELECT min(c.relname::text) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                       WHERE n.nspname = current_schema() AND c.relname::text = ANY ($1::text[])) AS taken",
    };
}

/// Of a database that is ours, or empty.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Found {
    /// The newest migration; 0 if the database is empty or absent.
    pub(crate) version: i64,
    /// Drawn at the first start.
    pub(crate) secret: Option<[u8; 32]>,
}

/// Reads only. Fails with [`StoreError::Foreign`] if another program made the database.
pub(crate) async fn look(database: &Database) -> Result<Found, StoreError> {
    if let Database::Sqlite(options) = database {
        return look_at_file(options);
    }
    let mut connection = database.connect().await?;
    let found = look_at_server(&mut connection).await;
    connection.close().await?;
    found
}

async fn look_at_server(connection: &mut Connection) -> Result<Found, StoreError> {
    let names = migrations::names().into_iter().map(|name| name.to_owned().into()).collect();
    let row = connection.fetch_one(LOOK.over([], names)).await?;
    // SQL_ASCII stores bytes as they are.
    let encoding: String = row.get("encoding")?;
    if !matches!(&*encoding, "UTF8" | "SQL_ASCII") {
        return Err(StoreError::Encoding(encoding));
    }
    let foreign = |table: &str| StoreError::Foreign {
        place: "the database of `database_url`".to_owned(),
        found: format!("its table `{table}`"),
        remedy: REMEDY_OF_SERVER,
    };
    if !row.get::<bool>("is_versioned")? {
        let taken: Option<String> = row.get("taken")?;
        return taken.map_or(Ok(Found::default()), |table| Err(foreign(&table)));
    }
    let version = migrations::version(connection).await?;
    if version == 0 {
        return Ok(Found::default());
    }
    if row.get::<i64>("marks")? != MARKS_MAX {
        return Err(foreign("schema_version"));
    }
    Ok(Found { version, secret: settings::find_secret(connection).await? })
}

fn look_at_file(options: &SqliteOptions) -> Result<Found, StoreError> {
    let path = &options.path;
    let failed = |source| StoreError::File { path: path.display().to_string(), source };
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::default()),
        Err(error) => return Err(failed(error)),
        // If SQLite opened it, it would lose the log beside it.
        Ok(found) if found.len() == 0 => return Ok(Found::default()),
        Ok(_) => {}
    }
    // Without a log no one has it open, and the file is complete.
    let is_logged = beside(path, "-wal").exists();
    match open_frozen(path).and_then(|connection| read(&connection)) {
        Ok(seen) => {
            seen.refuse_foreign(path, is_logged)?;
            if !is_logged {
                return Ok(seen.found);
            }
        }
        Err(error) if !is_logged => return Err(error.into()),
        // A page may be copied from the log at this moment.
        Err(_) => {}
    }
    let options = SqliteOptions { is_read_only: true, ..options.clone() };
    let seen = read(options.open()?.inner())?;
    seen.refuse_foreign(path, false)?;
    Ok(seen.found)
}

/// Opens the file as unchanging: SQLite takes no lock, and creates no log.
fn open_frozen(path: &Path) -> rusqlite::Result<Rusqlite> {
    Rusqlite::open_with_flags(frozen_uri(path), OpenFlags::SQLITE_OPEN_READ_ONLY | FROZEN)
}

struct Seen {
    application_id: i64,
    first_table: Option<String>,
    has_marks: bool,
    found: Found,
}

fn read(connection: &Rusqlite) -> rusqlite::Result<Seen> {
    let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (application_id, version) = (number("application_id")?, number("user_version")?);
    let first = connection.query_row(FIRST_TABLE.sqlite, [], |row| row.get(0)).optional()?;
    let has_marks = connection.query_row(MARKS.sqlite, [], |row| row.get::<_, i64>(0))? == MARKS_MAX;
    let secret = match has_marks && version > 0 {
        true => {
            connection.query_row(settings::FIND_SORT_KEY_SECRET.sqlite, [], |row| row.get(0)).optional()?
        }
        false => None,
    };
    Ok(Seen { application_id, first_table: first, has_marks, found: Found { version, secret } })
}

impl Seen {
    /// A file that `is_behind` its log may lack data of the log.
    fn refuse_foreign(&self, path: &Path, is_behind: bool) -> Result<(), StoreError> {
        let found = match (self.application_id, &self.first_table) {
            (APPLICATION_ID, _) => return Ok(()),
            (0, None) if self.found.version == 0 || is_behind => return Ok(()),
            (0, Some(_)) if self.found.version > 0 && (self.has_marks || is_behind) => return Ok(()),
            (0, Some(table)) => format!("its table `{table}`"),
            (0, None) => format!("its schema {}", self.found.version),
            (id, _) => format!("its application_id {id}"),
        };
        Err(StoreError::Foreign { place: path.display().to_string(), found, remedy: REMEDY_OF_FILE })
    }
}
