//! Why a backup was not taken, kept or restored.

use std::io;
use std::path::Path;

use thiserror::Error;

use crate::StoreError;

#[derive(Debug, Error)]
pub enum BackupError {
    /// The database is on a server.
    #[error("the database is a PostgreSQL, which has backups of its own")]
    OnServer,
    #[error("{path}: {source}")]
    File { path: String, source: io::Error },
    /// The folder holds other files.
    #[error("{path} holds other files: backups need a folder of their own")]
    Foreign { path: String },
    #[error("{path} is no repository of backups")]
    NoRepository { path: String },
    /// A newer program made the repository or the backup.
    #[error("{path} has version {found}, and this program knows {known}: use a newer program")]
    OtherVersion { path: String, found: u32, known: u32 },
    /// Another process writes to the repository, or reads data that is to be deleted.
    #[error("another backup or restore uses {path} now")]
    InUse { path: String },
    #[error("{path} holds no backup{}", .id.as_ref().map(|id| format!(" {id}")).unwrap_or_default())]
    Unknown {
        path: String,
        /// `None` for the newest.
        id: Option<String>,
    },
    /// The description of a backup is damaged.
    #[error("{path} {what}")]
    Manifest { path: String, what: String },
    #[error("{path} is missing")]
    MissingChunk { path: String },
    #[error("{path} {what}")]
    DamagedChunk { path: String, what: &'static str },
    #[error("{path} is there already: a backup is restored into a folder that holds no database")]
    Occupied { path: String },
    /// The database was damaged when it was backed up, or has another schema than Overnight creates.
    #[error("in the backup, {what}")]
    DamagedDatabase { what: String },
    /// Rules were broken when the backup was taken.
    #[error("what was restored breaks what must hold ({rule}: {breaches} times)")]
    Unsound {
        rule: &'static str,
        /// Rows that break it.
        breaches: i64,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl BackupError {
    /// Whether a disk or a user's quota is full.
    pub fn is_full_disk(&self) -> bool {
        let is_full = |kind| matches!(kind, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        matches!(self, Self::File { source, .. } if is_full(source.kind()))
    }

    pub(super) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.display().to_string();
        move |source| Self::File { path, source }
    }
}
