//! The durable queue: everything that is kept, and the only SQL there is.
//!
//! One task writes, in groups that share a transaction; readers are a pool that sees what is committed. Statements
//! stand in the file of their noun. See `ARCHITECTURE.md` for the tables and the invariants.

pub mod accounts;
pub mod activity;
pub mod api_keys;
pub mod audit;
mod balances;
pub mod batches;
mod books;
mod candidates;
mod database;
mod endings;
pub mod engine_reports;
mod error;
pub mod events;
pub mod expiry;
mod folder;
pub mod hints;
pub mod holds;
pub mod invitations;
pub mod leases;
pub mod ledger;
pub mod listing;
pub mod members;
mod migrations;
pub mod models;
pub mod moving;
mod opening;
pub mod owners;
pub mod payments;
pub mod prices;
pub mod queue;
pub mod releases;
pub mod replicas;
pub mod requests;
mod results;
mod row;
pub mod schema;
pub mod search;
pub mod sessions;
pub mod settings;
pub mod settle;
pub mod sign_in_failures;
pub mod sign_ups;
pub mod spend;
pub mod standings;
mod stretches;
pub mod users;
pub mod webhook_secrets;
mod writer;

pub use error::{DatabaseError, StoreError};
pub use folder::FolderLock;
pub use opening::{DATABASE_FILE, Durability, Store, StoreOptions, Turn};
pub use writer::{CrashPoint, ManualWriter};

#[cfg(test)]
mod tests;
