//! The boundary between the store and its database: statements, rows, connections and transactions of SQLite or PostgreSQL.
//!
//! SQLite is called on threads of our own: the writer's, on which a statement is a function call, and one for each reader, which answers a
//! page in one message. PostgreSQL connections are tasks.
//!
//! SQL can be found with grep. Every statement is plain text in a `statements!` block of its noun's file, with its name. Only the inserts
//! of `requests` and `request_states` and the statements of export and import are made, from the lists of their columns
//! (`requests/records.rs`, `requests/insert.rs`, `operations/transfer/tables.rs`). One text serves both databases if SQL allows; otherwise
//! both are side by side. SQLite executes a statement about a list once per row; PostgreSQL gets each column as an array. Rows are read by
//! column name. A test plans every statement (`crates/store/src/tests/statements.rs`) on both databases: none reads a growing table whole,
//! except a list with reasons. Two views (`current_states`, `current_requests`) define the state of a request once.
//!
//! Views named `overnight_…` are for operators at a SQL prompt. They spell identifiers, states, times and credits, and hold no bodies or
//! secrets; the service reads none of them.
//!
//! `postgres_url` reads the URL of the database as libpq does, for `config` and the store; `server.rs` and `tls.rs` make connections from
//! it. `secret_files` reads every file that holds a secret, and `paths` expands `~`; any crate uses them.

mod actor;
mod checkpoint;
mod columns;
mod connection;
mod decryption;
pub(crate) mod folder;
pub(crate) mod migrations;
mod options;
pub(crate) mod ownership;
mod page;
mod postgres;
mod readers;
mod reads_for;
mod row;
mod server;
pub(crate) mod settings;
mod sql;
mod sqlite;
mod statement;
mod thread;
mod tls;
pub(crate) mod transaction;
mod value;

pub use self::actor::{Actor, ActorId};
pub(super) use self::checkpoint::Checkpointer;
pub(super) use self::columns::{Column, Columns, JointColumns, unnest};
pub(super) use self::connection::{Connection, note_damage};
pub(super) use self::options::Database;
pub(super) use self::readers::Readers;
pub use self::reads_for::ReadsFor;
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

/// An error of PostgreSQL, or of the connection to it.
pub(super) use sqlx::Error as PostgresError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Sqlite,
    Postgres,
}
