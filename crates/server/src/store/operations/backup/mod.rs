//! Backups of a data folder: pages of its database as of one moment, read while the service goes on, in a repository in
//! which unchanged runs of pages are stored once.
//!
//! ```text
//! repository.json             what it is, and its version
//! lock                        one backup at a time
//! backups/00000007-20261120T211403.512Z.json   the seventh backup: the runs of pages of the database by their digests, in order
//! damaged/                    backups that cannot be restored
//! chunks/3f/3f9a….zst         a run of pages, compressed; its name is the SHA-256 of what is in it
//! incoming/                   chunks of a backup that is being taken
//! ```
//!
//! A chunk takes its name once it is on the disk, and a backup appears once all of its chunks have theirs: whatever breaks off,
//! the repository holds whole backups. Nothing in it is ever changed, so it can be copied file by file.
//!
//! A backup is one read transaction. `overnight backup` reads the pages of the database through SQLite's table `sqlite_dbpage` in one
//! transaction, which sees one moment whatever is written and checkpointed meanwhile. Runs of 64 pages are stored under their
//! digests; what the repository has is not stored again (`store/operations/backup`). SQLite's online backup would write the whole
//! database a second time before anything could be compared. A restore is audited in a folder inside the data folder, whose lock it
//! holds, and the database gets its name last.

mod checking;
mod chunks;
mod errors;
mod files;
mod manifest;
mod pruning;
mod repository;
pub(in crate::store) mod restoring;
pub(in crate::store) mod taking;

pub use self::checking::{Unusable, set_damaged_aside};
pub use self::errors::BackupError;
pub use self::manifest::Summary;
pub use self::pruning::{Keep, Pruned, prune};
pub use self::repository::Repository;
pub use self::restoring::{OnBreach, Restored, check, restore};
pub use self::taking::{Taken, take};
