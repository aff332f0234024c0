//! What the store can say instead of an answer. It knows nothing of HTTP.

use thiserror::Error;

/// Why the store did not do what it was asked.
#[derive(Debug, Error)]
pub enum StoreError {
    /// Nothing was taken: too many writes wait, or the disk takes none. It may be tried again.
    #[error("the store takes no writes now: {0}")]
    Unavailable(&'static str),
    /// The store is closing, or its writer is gone, with the write undone or its outcome unknown: the process is ending.
    #[error("the store has stopped")]
    Stopped,
    /// A write that the data forbid; nothing of it was done.
    #[error("the write was refused by the data: {0}")]
    Refused(String),
    /// A stored row does not read as what it should be.
    #[error("a stored row is damaged: {0}")]
    Damaged(&'static str),
    /// The database is newer than this program.
    #[error("the database has schema {found}, and this program knows up to {known}: use a newer program")]
    Newer {
        /// The schema found.
        found: i64,
        /// The newest schema known here.
        known: i64,
    },
    /// Another process serves this data folder.
    #[error("{folder} is served by process {pid}; stop it first, or choose another data folder")]
    Locked {
        /// The data folder.
        folder: String,
        /// Who holds it.
        pid: String,
    },
    /// A file of the data folder could not be used.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// Anything else the database said.
    #[error("the database failed: {0}")]
    Database(#[from] sqlx::Error),
}

/// What went wrong with a group, as far as it decides what is done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// One member is at fault: run each alone.
    Constraint,
    /// The disk is full, or another process holds the lock for too long: refuse writes for a while.
    Refusing,
    /// Nothing written from now on can be trusted.
    Fatal,
}

impl StoreError {
    /// Whether the same may be asked again later: nothing was done, and the reason is one that passes.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unavailable(_) | Self::Stopped => true,
            Self::Database(_) => self.trouble() == Trouble::Refusing,
            _ => false,
        }
    }

    /// Sorts what SQLite said by its primary result code (<https://sqlite.org/rescode.html>).
    pub(super) fn trouble(&self) -> Trouble {
        const SQLITE_BUSY: i32 = 5;
        const SQLITE_FULL: i32 = 13;
        const SQLITE_CONSTRAINT: i32 = 19;
        const SQLITE_TOOBIG: i32 = 18;
        let Self::Database(sqlx::Error::Database(error)) = self else {
            return if matches!(self, Self::Refused(_)) { Trouble::Constraint } else { Trouble::Fatal };
        };
        let code = error.code().and_then(|code| code.parse::<i32>().ok()).unwrap_or(0);
        match code & 0xff {
            SQLITE_CONSTRAINT | SQLITE_TOOBIG => Trouble::Constraint,
            SQLITE_FULL | SQLITE_BUSY => Trouble::Refusing,
            _ => Trouble::Fatal,
        }
    }
}
