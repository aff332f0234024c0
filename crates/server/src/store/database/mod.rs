//! The seam between the store and its database: statements, rows, connections and transactions that are SQLite's or
//! PostgreSQL's. A text serves both where it can; where it cannot, both stand side by side in one function.
//!
//! SQLite is called on threads of our own: the writer's, on which a statement is a function call, and one for each reader,
//! which answers a page in one message. PostgreSQL is spoken to over the network, as a task.
//!
//! SQL can be found with grep. Every statement stands as plain text in a `statements!` block of its noun's file, with its name. Only
//! the inserts of `requests` and `request_states` and the statements of export and import are made, from the lists of their columns
//! (`requests/records.rs`, `requests/insert.rs`, `operations/transfer/tables.rs`). One text serves both databases where SQL allows;
//! otherwise both stand side by side. SQLite executes a statement about a list once a row; PostgreSQL gets each column as an array.
//! Rows are read by column name. A test plans every statement (`crates/server/src/store/tests/statements.rs`) on both databases: none
//! reads a growing table whole, but for a list with reasons. Two views (`current_states`, `current_requests`) define the state of a
//! request once.
//!
//! Views named `overnight_…` are for people. They spell identifiers, states, times and credits for operators at a SQL prompt; the
//! service reads none of them, and they hold no bodies or secrets. `secret_files` reads every file that holds a secret, and `paths`
//! expands `~`; any room uses them. `postgres_url` reads the URL of the database as libpq does, for `config` and the store; how
//! connections are made of it is `store/database/server.rs`.

mod actor;
mod checkpoint;
mod columns;
mod connection;
mod decryption;
pub(in crate::store) mod folder;
pub(in crate::store) mod migrations;
mod options;
pub(in crate::store) mod ownership;
mod page;
mod postgres;
mod readers;
mod row;
mod server;
pub(in crate::store) mod settings;
mod sql;
mod sqlite;
mod statement;
mod thread;
pub(in crate::store) mod transaction;
mod value;

pub use self::actor::{Actor, ActorId};
pub(super) use self::checkpoint::Checkpointer;
pub(super) use self::columns::{Column, Columns, JointColumns};
pub(super) use self::connection::{Connection, note_damage};
pub(super) use self::options::Database;
pub(super) use self::readers::Readers;
pub use self::readers::ReadsFor;
pub(super) use self::row::Row;
pub use self::server::ServerFiles;
pub(super) use self::sql::{Sql, statements, texts};
pub(super) use self::sqlite::beside;
pub(super) use self::statement::{Statement, sql};
pub(super) use self::thread::{end_process, spawn as spawn_thread};
#[cfg(test)]
pub(super) use self::transaction::LIVES_FOR;
pub(super) use self::transaction::{
    CommitError, Numbered, Outcome, Tx, in_pooled_transaction, in_transaction, outcome_of,
};
pub(super) use self::value::{Kind, Value};

/// What PostgreSQL, or the way to it, says is wrong.
pub(super) use sqlx::Error as PostgresError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Sqlite,
    Postgres,
}
