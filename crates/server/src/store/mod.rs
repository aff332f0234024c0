//! The durable queue: everything that is kept, and the only SQL there is.
//!
//! One writer writes, in groups that share a transaction; readers are a pool that sees what is committed. Statements
//! stand in the file of their noun. See `ARCHITECTURE.md` for the modules, the tables and the invariants.

mod access;
pub mod audit_log;
mod batch_watches;
pub mod batches;
pub mod closing;
mod database;
mod disk_space;
mod effects;
mod encryption;
mod error;
mod event_states;
mod exposures;
pub mod file_watch;
pub mod files;
pub mod idempotency_keys;
pub mod identity;
mod installation;
pub mod ledger;
pub mod lists;
mod log_truncation;
pub mod low_credits;
pub mod nodes;
pub mod objects;
mod opening;
pub mod operations;
mod options;
mod outages;
pub mod outbox;
mod postgres_words;
pub mod queue;
mod read_queue;
pub mod requests;
mod row;
pub mod schema;
pub mod waits;
mod writer;
mod writes;

pub use batch_watches::{BatchWatch, watch_batch};
pub use database::folder::{FolderLock, LOCK_FILE, prepare_folder};
pub use database::{Actor, ActorId, ReadsFor, ServerFiles};
pub use disk_space::DiskSpace;
pub use encryption::check_keys;
pub use error::{DatabaseError, StoreError};
pub use exposures::{Exposure, exposures};
pub use installation::{INSTALLATION_FILE, KEY_FILE, is_used};
pub use opening::{Store, Turn};
pub use options::{DATABASE_FILE, Durability, StoreOptions};
pub use writer::{CrashPoint, ManualWriter};

#[cfg(test)]
mod tests;
