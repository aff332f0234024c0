//! The seam between the store and its database: statements, rows, connections and transactions that are SQLite's or
//! PostgreSQL's. A text serves both where it can; where it cannot, both stand side by side in one function.

mod connection;
mod database;
mod postgres;
mod readers;
mod row;
mod rows;
mod statement;
mod tx;
mod values;

pub(super) use self::connection::Connection;
pub(super) use self::database::Database;
pub(super) use self::readers::Readers;
pub(super) use self::row::Row;
pub(super) use self::rows::{Kind, Part, RowsStatement, chunks, read_joined};
pub(super) use self::statement::{Statement, sql, sql_each};
pub(super) use self::tx::{CommitError, Numbered, Outcome, Tx, outcome_of};
pub(super) use self::values::Value;

/// Which database it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// A file in the data folder.
    Sqlite,
    /// A server that nodes share.
    Postgres,
}
