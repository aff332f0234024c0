//! What the store can say instead of an answer. It knows nothing of HTTP.

use overnight_base::encryption::KeyringError;
use overnight_base::file_owner::owner_of_denied;
use sqlx::Error as PostgresError;
use thiserror::Error;

use crate::object_store::ObjectStoreError;
use crate::store::exposures::Exposure;
use crate::store::outages::{is_connection_error, of_postgres, of_sqlite};
use crate::store::postgres_words::{fault_of_tls, in_words, in_words_of_tls, said};

/// Why the store did not do what it was asked.
#[derive(Debug, Error)]
pub enum StoreError {
    /// Nothing was taken: too many writes wait, or the disk takes none. It may be tried again.
    #[error("the store accepts no writes now: {0}")]
    Unavailable(&'static str),
    /// Nothing was taken: the database lacks what this write needs, and does others. It may be tried again.
    #[error("{said}")]
    Lacking {
        /// What it lacks, for everybody to read.
        why: &'static str,
        /// The same in its own words, and what to do.
        said: String,
    },
    /// Nothing was taken: what is left of the disk is kept for the results of what runs. It may be tried again.
    #[error("the store accepts no writes now: the disk is nearly full")]
    DiskReserved,
    /// The store is closing, or its writer is gone, with the write undone or its outcome unknown: the process is ending.
    #[error("the store has stopped")]
    Stopped,
    /// Members of an account, or a user, have changed as much in a day as they may; nothing of it was done.
    #[error("too many changes were made in the last 24 hours: {0} may be")]
    TooManyChanges(u32),
    /// The account is suspended; nothing was done.
    #[error("the account is suspended: its keys read and change nothing until the operator resumes it")]
    AccountSuspended,
    /// The account is closed; nothing was done.
    #[error("the account is closed for good")]
    AccountClosed,
    /// A write that the data forbid; nothing of it was done.
    #[error("the write was refused by the data: {0}")]
    Refused(String),
    /// A stored row does not read as what it should be.
    #[error("a stored row is damaged: {0}")]
    Damaged(&'static str),
    /// A column of a stored row does not read as what it should be.
    #[error("a stored row is damaged: its column {0}")]
    DamagedColumn(&'static str),
    /// Pages of the database do not read as they were written.
    #[error("the database is damaged: {0}")]
    DamagedPages(String),
    /// The database is newer than this program.
    #[error("the database has schema {found}, and this program knows up to {known}: use a newer program")]
    Newer {
        found: i64,
        /// The newest schema known here.
        known: i64,
    },
    /// The database, or a backup of one, is of a version before the first release.
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
        /// The schema found; 0 where there is none.
        found: i64,
        known: i64,
    },
    /// Another program made the database; nothing was written to it.
    #[error("{place} belongs to another program ({found}) and was left as it is: {remedy}")]
    Foreign { place: String, found: String, remedy: &'static str },
    /// The data folder was used, and its database is gone.
    #[error("the data folder {folder} was used before, and {database} is missing or empty: {remedy}")]
    Lost { folder: String, database: String, remedy: &'static str },
    /// The data folder was used with another database.
    #[error("the data folder {folder} was used with another database than {database}: {remedy}")]
    OtherInstallation { folder: String, database: String, remedy: &'static str },
    /// Another process serves this data folder.
    #[error("{folder} is served by process {pid}; stop it first, or choose another data folder")]
    Locked { folder: String, pid: String },
    /// A file of the data folder could not be used.
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
    /// The URL of the server asks for what cannot be done.
    #[error("`database_url`: {0}")]
    Url(String),
    /// A file that the URL of the server names is not there, or not what it should be.
    #[error("`{parameter}` of `database_url`: {path}: {fault}")]
    Certificate { parameter: &'static str, path: String, fault: String },
    /// A file that holds the URL of the server, or its password, cannot be used.
    #[error("`{setting}`: the file {path} {fault}")]
    Secret {
        setting: &'static str,
        path: String,
        /// What is wrong, as the end of a sentence.
        fault: String,
    },
    /// The server and we did not agree on TLS.
    #[error("TLS with the server of `database_url`: {0}")]
    Tls(String),
    /// What is stored cannot be encrypted or decrypted.
    #[error("encryption: {0}")]
    Encryption(#[from] KeyringError),
    /// What is stored beside the database cannot be put there or read.
    #[error(transparent)]
    ObjectStore(#[from] ObjectStoreError),
    /// Anything else the database said.
    #[error("the database failed: {0}")]
    Database(DatabaseError),
}

#[derive(Debug, Error)]
pub enum DatabaseError {
    /// The file, or the library.
    #[error(transparent)]
    Sqlite(rusqlite::Error),
    /// The server, or the way to it.
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

/// Why a server refused a statement.
fn sqlstate(error: &PostgresError) -> Option<&str> {
    said(error).map(|said| said.code())
}

/// What went wrong with a group, as far as it decides what is done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// One member is at fault: run each alone.
    Constraint,
    /// Another node wrote to the same rows at the same moment: run it again.
    Again,
    /// The disk is full, another process holds the lock for too long, or the server is away: refuse writes for a while.
    Refusing,
    /// Nothing written from now on can be trusted.
    Fatal,
}

impl StoreError {
    /// Whether the same may be asked again later: nothing was done, and the reason is one that passes.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unavailable(_) | Self::DiskReserved | Self::Stopped => true,
            _ => self.outage().is_some(),
        }
    }

    /// Why the store is not available, if that is all that is wrong; for everybody to read.
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

    /// Whether something in the database does not read as it was written. A backup has it.
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

    /// Whether the server and we did not agree on TLS.
    pub(super) const fn is_of_tls(&self) -> bool {
        matches!(self, Self::Tls(_) | Self::Database(DatabaseError::Postgres(PostgresError::Tls(_))))
    }

    /// Why the server refused it, as its code.
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

    /// Whether this machine's disk failed: nobody knows what is on it. A page that was damaged earlier fails what needs it, and
    /// nothing else.
    pub(super) fn is_disk_failure(&self) -> bool {
        let Self::Database(DatabaseError::Sqlite(error)) = self else { return false };
        error.sqlite_error_code() == Some(rusqlite::ErrorCode::SystemIoFailure)
    }

    /// Whether the connection is of no more use, so that what was last asked on it has an unknown outcome.
    pub(super) fn is_connection_lost(&self) -> bool {
        const CLASSES: [&str; 2] = ["08", "57"];
        let Self::Database(DatabaseError::Postgres(error)) = self else { return false };
        is_connection_error(error)
            || sqlstate(error).is_some_and(|code| CLASSES.iter().any(|class| code.starts_with(class)))
    }
}

/// By its primary result code (<https://sqlite.org/rescode.html>).
fn trouble_of_sqlite(error: &rusqlite::Error) -> Trouble {
    use rusqlite::ErrorCode;
    match error.sqlite_error_code() {
        Some(ErrorCode::ConstraintViolation | ErrorCode::TooBig) => Trouble::Constraint,
        // Who needs the damaged page fails alone, as on PostgreSQL.
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Trouble::Constraint,
        Some(ErrorCode::SystemIoFailure) => Trouble::Fatal,
        _ if of_sqlite(error).is_some() => Trouble::Refusing,
        _ => Trouble::Fatal,
    }
}

/// By its SQLSTATE (<https://www.postgresql.org/docs/current/errcodes-appendix.html>). A server may be away for as long as
/// it likes: that never ends this process.
fn trouble_of_postgres(code: &str) -> Trouble {
    const AGAIN: [&str; 3] = ["40001", "40P01", "55P03"];
    const READ_ONLY: &str = "25006";
    /// The connection waits to be closed: its session was ended, or its transaction has failed and was not rolled back.
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
