//! The time and repository of a data folder's last backup: `last-backup.json` in that folder, for `overnight doctor`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use overnight_base::file_owner::leave_to_owner;
use overnight_store::operations::backup::Summary;
use serde::{Deserialize, Serialize};

use crate::connection::whole;
use crate::files::AtomicFile;

const FILE: &str = "last-backup.json";

/// The newest backup that a command took of a data folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LastBackup {
    /// Its repository, as an absolute path.
    pub(crate) repository: PathBuf,
    pub(crate) id: String,
    /// Its stamp, in milliseconds.
    pub(crate) taken_at_ms: i64,
}

impl LastBackup {
    /// Notes that `backup` of `data_dir` is in `repository`.
    pub(crate) fn note(data_dir: &Path, repository: &Path, backup: &Summary) -> io::Result<()> {
        let noted =
            Self { repository: whole(repository), id: backup.id.clone(), taken_at_ms: backup.taken_at };
        let path = data_dir.join(FILE);
        let mut file = AtomicFile::create_private(&path)?;
        serde_json::to_writer(&mut file, &noted)?;
        file.commit()?;
        leave_to_owner(data_dir, &path)
    }

    /// `None` if no backup was noted.
    pub(crate) fn read(data_dir: &Path) -> io::Result<Option<Self>> {
        match fs::read(data_dir.join(FILE)) {
            Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}
