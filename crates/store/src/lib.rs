//! The durable queue: all stored data, and all SQL.
//!
//! One writer writes, in groups that share a transaction; readers are a pool that sees committed data. Statements are in the file of
//! their noun. `docs/guarantees.md` has the invariants.
//!
//! The databases differ in what guards a write. On SQLite the one writer makes every statement safe. On PostgreSQL each node has a
//! writer, and rows decide: a lease and a settle are one guarded statement each; the node that deletes a request's queue row ends the
//! request; a batch locks its requests while it counts them. Rows are locked in the order of `seq`. A deadlock is retried. Every
//! store test and the whole API suite run on both databases.
//!
//! ```text
//!   database/      connections, statements, rows, transactions, checkpoints, migrations, the lock of the folder
//!   writer/        queues of writes, group commit; it names no noun
//!   writes.rs      the order in which a group does its writes, and its transaction, with its effects and numbers
//!   installation.rs  whether a folder and its database belong together, by the purpose of the opening
//!   outages.rs     why a database is unavailable: one classification for the API, /readyz and the writer
//!   access.rs      access to the files of a folder; reading a read-only one
//!   file_watch.rs  whether the files of a served folder are still there
//!   opening.rs     `Store` itself: opening, closing, `transaction`      row.rs      the columns of a request's state
//!   exposures.rs   who else can use the data folder; corrects its modes      server_faults.rs  faults of a PostgreSQL server
//!   effects/       batch counters, events and money of a group of writes, applied once at its end
//!   requests/  batches/                 requests and batches, and their deletion
//!   queue/         release, scan, lease, settle, end, expire, live counts
//!   files/         files of batch lines: uploaded, read, deleted
//!   idempotency_keys.rs   calls that are done once, and the answer to their repeats      key_retention.rs  their deletion
//!   lists.rs       pages of lists for people, and the search in metadata      direction.rs  their direction
//!   request_blocks.rs  what the requests of a block have in common, for lists that skip the rest
//!   ledger/        totals of accounts, holds, price points, charges, spend by day, model and API key, activity, payments
//!   identity/      accounts, users, sessions, members, invitations, API keys, sign-in failures
//!   audit_log/     entries, daily limits, pages, retention
//!   objects/       bodies stored as objects: their rows, and their deletion
//!   nodes/         nodes, engine replicas, hints, engine reports, days of daily budgets
//!   outbox/        events, claims, attempts, webhook secrets
//!   closing/       closing accounts, and erasing them piece by piece
//!   waits.rs        stored waits, which move with a clock that changed
//!   low_credits.rs  notifying accounts of low credits
//!   log_truncation.rs  emptying the write-ahead log, so that deleted data leaves it
//!   operations/    audit, backup and restore, export and import, vacuum
//! ```

mod access;
pub mod audit_log;
mod batch_watches;
pub mod batches;
pub mod closing;
mod database;
mod direction;
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
mod key_retention;
mod last_deleted;
pub mod ledger;
pub mod lists;
mod log_truncation;
pub mod low_credits;
pub mod nodes;
pub mod object_store;
pub mod objects;
mod opening;
pub mod operations;
mod options;
mod outages;
pub mod outbox;
mod postgres_words;
pub mod queue;
mod read_queue;
mod request_blocks;
pub mod requests;
mod row;
pub mod schema;
mod server_faults;
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
pub use key_retention::delete_old_keys;
pub use opening::{Store, Turn};
pub use options::{DATABASE_FILE, Durability, StoreOptions};
pub use server_faults::{ServerFault, server_faults};
pub use writer::{CrashPoint, ManualWriter};

#[cfg(test)]
mod tests;
