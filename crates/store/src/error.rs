//! The store's errors, independent of HTTP.

use overnight_base::encryption::KeyringError;
use overnight_base::file_owner::owner_of_denied;
use rusqlite::ffi;
use sqlx::Error as PostgresError;
use thiserror::Error;

use crate::exposures::Exposure;
use crate::object_store::ObjectStoreError;
use crate::outages::{is_connection_error, of_postgres, of_sqlite};
use crate::postgres_words::{fault_of_tls, in_words, in_words_of_tls, said};

#[derive(Debug, Error)]
pub enum StoreError {
    /// The write was refused: too many wait, or the disk accepts none. It may be retried.
    #[error("the store accepts no writes now: {0}")]
    Unavailable(&'static str),
    /// The write was refused: the database lacks something that it needs, but does other writes. It may be retried.
    #[error("{said}")]
    Lacking {
        /// What it lacks, for any reader.
        why: &'static str,
        /// The database's own words, and what to do.
        said: String,
    },
    /// The write was refused: the rest of the disk is reserved for results of running work. It may be retried.
    #[error("the store accepts no writes now: the disk is nearly full")]
    DiskReserved,
    /// The store is closing, or its writer has ended; the write is undone or its outcome unknown. The process is ending.
    #[error("the store has stopped")]
    Stopped,
    /// The daily limit of an account's members, or of a user, is reached; the change was undone.
    #[error("too many changes were made in the last 24 hours: {0} may be")]
    TooManyChanges(u32),
    #[error("the account is suspended: its keys read and change nothing until the operator resumes it")]
    AccountSuspended,
    #[error("the account is closed for good")]
    AccountClosed,
    /// The data forbid this write; it was undone.
    #[error("the write was refused by the data: {0}")]
    Refused(String),
    /// A stored row has an invalid value.
    #[error("a stored row is damaged: {0}")]
    Damaged(&'static str),
    /// A column of a stored row has an invalid value.
    #[error("a stored row is damaged: its column {0}")]
    DamagedColumn(&'static str),
    /// Pages of the database are not as they were written.
    #[error("the database is damaged: {0}")]
    DamagedPages(String),
    /// Triggers, views, tables, indexes or columns that the migrations do not create, or lack.
    #[error("the database has another schema than Overnight creates: {0}")]
    OtherSchema(String),
    #[error("the database has schema {found}, and this program knows up to {known}: use a newer program")]
    Newer { found: i64, known: i64 },
    /// The database, or a backup, has a schema before the first release.
    #[error(
        "the database has schema {found}, of a version before 0.1.0, which this program does not open: export it with \
         a program of schema {exported} (`overnight export FILE`), and import the file with this one (`overnight import FILE`)"
    )]
    Unreleased {
        found: i64,
        /// The schema with which it is exported.
        exported: i64,
    },
    /// The database is older than this program, and the command changes no schema.
    #[error(
        "the database has schema {found}, and this program needs {known}: `overnight migrate` brings it there"
    )]
    Outdated {
        /// 0 if there is none.
        found: i64,
        known: i64,
    },
    /// Another program made the database; it was not changed.
    #[error("{place} belongs to another program ({found}) and was left as it is: {remedy}")]
    Foreign { place: String, found: String, remedy: &'static str },
    /// Texts of clients may hold any character.
    #[error(
        "the database of `database_url` has the encoding {0}, which lacks characters: create another with `ENCODING 'UTF8' TEMPLATE template0`"
    )]
    Encoding(String),
    /// The data folder was used, but its database is gone.
    #[error("the data folder {folder} was used before, and {database} is missing or empty: {remedy}")]
    Lost { folder: String, database: String, remedy: &'static str },
    /// The data folder was used with another database.
    #[error("the data folder {folder} was used with another database than {database}: {remedy}")]
    OtherInstallation { folder: String, database: String, remedy: &'static str },
    #[error("{folder} is served by process {pid}; stop it first, or choose another data folder")]
    Locked { folder: String, pid: String },
    #[error("{path}: {source}{}", owner_of_denied(path.as_ref(), source))]
    File { path: String, source: std::io::Error },
    /// The system has no thread left. The process ends.
    #[error("the thread `{name}` cannot be started: {source}")]
    Thread { name: &'static str, source: std::io::Error },
    /// Every user of this machine can read or replace what the data folder holds, and this process cannot change that.
    #[error("{0}: every user of this machine can read or replace what is stored there")]
    Exposed(Exposure),
    /// A pooler lends servers for one transaction at a time, and was not announced.
    #[error(
        "a pooler before the database lends its servers by transaction, and so loses prepared statements: \
         add `?statement-cache-capacity=0` to `database_url`"
    )]
    Pooled,
    /// The URL of the server asks for something unsupported.
    #[error("`database_url`: {0}")]
    Url(String),
    /// A file that the server's URL names is missing or invalid.
    #[error("`{parameter}` of `database_url`: {path}: {fault}")]
    Certificate { parameter: &'static str, path: String, fault: String },
    /// A file with the server's URL or password cannot be used.
    #[error("`{setting}`: the file {path} {fault}")]
    Secret {
        setting: &'static str,
        path: String,
        /// The end of a sentence.
        fault: String,
    },
    /// The TLS handshake with the server failed.
    #[error("TLS with the server of `database_url`: {0}")]
    Tls(String),
    #[error("encryption: {0}")]
    Encryption(#[from] KeyringError),
    #[error(transparent)]
    ObjectStore(#[from] ObjectStoreError),
    /// Any other error of the database.
    #[error("the database failed: {0}")]
    Database(DatabaseError),
}

#[derive(Debug, Error)]
pub enum DatabaseError {
    /// The file, or the library.
    #[error(transparent)]
    Sqlite(rusqlite::Error),
    /// The server, or the connection to it.
    #[error("{}", in_words(.0))]
    Postgres(sqlx::Error),
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(DatabaseError::Sqlite(error))
    }
}

impl From<PostgresError> for StoreError {
    fn from(error: PostgresError) -> Self {
        const NO_SUCH_STATEMENT: &str = "26000";
        const STATEMENT_EXISTS: &str = "42P05";
        match sqlstate(&error) {
            Some(NO_SUCH_STATEMENT | STATEMENT_EXISTS) => Self::Pooled,
            _ => match fault_of_tls(&error) {
                Some(fault) => Self::Tls(in_words_of_tls(fault)),
                None => Self::Database(DatabaseError::Postgres(error)),
            },
        }
    }
}

fn sqlstate(error: &PostgresError) -> Option<&str> {
    said(error).map(|said| said.code())
}

/// How to continue after a group failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// One member is at fault: run each alone.
    Constraint,
    /// Another node wrote the same rows: run it again.
    Again,
    /// The disk is full, another process holds the lock too long, or the server is unreachable: refuse writes for a while.
    Refusing,
    /// No further write can be trusted.
    Fatal,
}

impl StoreError {
    /// Whether a retry may succeed: the write was refused for a temporary reason.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unavailable(_) | Self::DiskReserved | Self::Stopped => true,
            _ => self.outage().is_some(),
        }
    }

    /// Why the store is unavailable, if that is the only problem; for any reader.
    pub fn outage(&self) -> Option<&'static str> {
        match self {
            Self::Lacking { why, .. } => Some(why),
            Self::Pooled => Some("a pooler lends the database by transaction"),
            Self::Certificate { .. } | Self::Secret { .. } => {
                Some("a file that the way to the database needs cannot be used")
            }
            Self::Thread { .. } => Some("the machine has no thread left"),
            Self::Tls(_) => Some("the database and the service do not agree on TLS"),
            Self::Encryption(_) => Some("the encryption keys cannot be used"),
            Self::ObjectStore(error) if error.is_passing() => Some("the object store cannot be used"),
            Self::Database(DatabaseError::Sqlite(error)) => of_sqlite(error),
            Self::Database(DatabaseError::Postgres(error)) => of_postgres(error),
            _ => None,
        }
    }

    /// Whether data of the database is not as it was written; a backup has it.
    pub fn is_damage(&self) -> bool {
        /// `data_corrupted` and `index_corrupted`.
        const CORRUPTED: [&str; 2] = ["XX001", "XX002"];
        match self {
            Self::DamagedPages(_) | Self::DamagedColumn(_) => true,
            Self::Database(DatabaseError::Sqlite(error)) => {
                use rusqlite::ErrorCode;
                let code = error.sqlite_error_code();
                matches!(code, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
            }
            _ => self.sqlstate().is_some_and(|code| CORRUPTED.contains(&code)),
        }
    }

    /// Whether the TLS handshake failed.
    pub(super) const fn is_of_tls(&self) -> bool {
        matches!(self, Self::Tls(_) | Self::Database(DatabaseError::Postgres(PostgresError::Tls(_))))
    }

    pub(super) fn sqlstate(&self) -> Option<&str> {
        let Self::Database(DatabaseError::Postgres(error)) = self else { return None };
        sqlstate(error)
    }

    pub(super) fn trouble(&self) -> Trouble {
        match self {
            Self::Database(DatabaseError::Sqlite(error)) => trouble_of_sqlite(error),
            Self::Database(DatabaseError::Postgres(error)) => match sqlstate(error) {
                Some(code) => trouble_of_postgres(code),
                None if is_connection_error(error) => Trouble::Refusing,
                None => Trouble::Fatal,
            },
            Self::Refused(_) => Trouble::Constraint,
            Self::Pooled | Self::Certificate { .. } | Self::Secret { .. } | Self::Tls(_) => Trouble::Refusing,
            _ => Trouble::Fatal,
        }
    }

    /// Whether a lock was not available in time.
    pub(super) fn is_locked(&self) -> bool {
        self.sqlstate() == Some("55P03")
    }

    /// Whether this machine's disk failed, so that its state is unknown. A page that was damaged earlier fails only the statements that
    /// need it.
    pub(super) fn is_disk_failure(&self) -> bool {
        let Self::Database(DatabaseError::Sqlite(error)) = self else { return false };
        error.sqlite_error_code() == Some(rusqlite::ErrorCode::SystemIoFailure) && !is_failed_write(error)
    }

    /// Whether the connection is unusable, so that the last statement's outcome is unknown.
    pub(super) fn is_connection_lost(&self) -> bool {
        const CLASSES: [&str; 2] = ["08", "57"];
        let Self::Database(DatabaseError::Postgres(error)) = self else { return false };
        is_connection_error(error)
            || sqlstate(error).is_some_and(|code| CLASSES.iter().any(|class| code.starts_with(class)))
    }
}

/// Whether a write failed, such as beyond a quota of the disk. Durable data stays, and SQLite undoes the transaction.
const fn is_failed_write(error: &rusqlite::Error) -> bool {
    let rusqlite::Error::SqliteFailure(failure, _) = error else { return false };
    matches!(failure.extended_code, ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_IOERR_SHMSIZE)
}

/// By its primary result code (<https://sqlite.org/rescode.html>).
fn trouble_of_sqlite(error: &rusqlite::Error) -> Trouble {
    use rusqlite::ErrorCode;
    match error.sqlite_error_code() {
        Some(ErrorCode::ConstraintViolation | ErrorCode::TooBig) => Trouble::Constraint,
        // Only statements that need the damaged page fail, as on PostgreSQL.
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Trouble::Constraint,
        Some(ErrorCode::SystemIoFailure) if !is_failed_write(error) => Trouble::Fatal,
        _ if of_sqlite(error).is_some() => Trouble::Refusing,
        _ => Trouble::Fatal,
    }
}

/// By its SQLSTATE (<https://www.postgresql.org/docs/current/errcodes-appendix.html>). A server may be unreachable for any time: that never
/// ends this process.
fn trouble_of_postgres(code: &str) -> Trouble {
    const AGAIN: [&str; 3] = ["40001", "40P01", "55P03"];
    const READ_ONLY: &str = "25006";
    /// The connection must be closed: its session was ended, or its transaction failed without a rollback.
    const OUT_OF_ORDER: [&str; 3] = ["25P03", "25P02", "25P04"];
    const AWAY: [&str; 7] = ["08", "28", "3D", "53", "57", "58", "F0"];
    if AGAIN.contains(&code) {
        Trouble::Again
    } else if code == READ_ONLY || OUT_OF_ORDER.contains(&code) || AWAY.iter().any(|it| code.starts_with(it))
    {
        Trouble::Refusing
    } else {
        Trouble::Constraint
    }
}

#[cfg(test)]
mod tests;
