//! Backups of a data folder: pages of its database as of one moment, read while the service continues, in a repository that stores
//! unchanged runs of pages once.
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
//! A chunk takes its name once it is on the disk, and a backup appears once all of its chunks have theirs: after any interruption the
//! repository holds whole backups. Its files never change, so it can be copied file by file.
//!
//! A restore is audited in a folder inside the data folder, whose lock it holds, and the database gets its name last.

mod checking;
mod chunks;
mod errors;
mod files;
mod manifest;
mod pruning;
mod repository;
pub(crate) mod restoring;
pub(crate) mod taking;

pub use self::checking::{Unusable, set_damaged_aside};
pub use self::errors::BackupError;
pub use self::manifest::Summary;
pub use self::pruning::{Keep, Pruned, prune};
pub use self::repository::Repository;
pub use self::restoring::{OnBreach, Restored, check, restore};
pub use self::taking::{Taken, take};
