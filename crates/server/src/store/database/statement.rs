//! A statement with its values.

use std::borrow::Cow;

use overnight_base::planted_bugs;

use crate::store::database::Dialect;
use crate::store::database::sql::Sql;
use crate::store::database::value::{self, Value};

/// What is to be done, and with which values.
#[derive(Debug, Clone)]
pub(in crate::store) struct Statement {
    sql: Sql,
    values: Vec<Value>,
    rows: Vec<Value>,
}

/// A statement that nothing lists: one that is made of the columns of a table, or asks for a plan.
pub(in crate::store) const fn sql(text: &'static str) -> Statement {
    Statement::of(Sql::of(text, text), Vec::new(), Vec::new())
}

impl Sql {
    /// The statement without values.
    pub(in crate::store) const fn unbound(&self) -> Statement {
        Statement::of(*self, Vec::new(), Vec::new())
    }

    /// The statement with the value of its first place.
    pub(in crate::store) fn bind(&self, value: impl Into<Value>) -> Statement {
        self.unbound().bind(value)
    }

    /// The statement over `rows`, which hold a value for every column of every row, with the values that they share.
    pub(in crate::store) fn over(
        &self,
        shared: impl IntoIterator<Item = Value>,
        rows: Vec<Value>,
    ) -> Statement {
        debug_assert_eq!(rows.len() % self.columns.len(), 0, "{}", self.name);
        Statement::of(*self, shared.into_iter().collect(), rows)
    }
}

impl Statement {
    /// `sql` over `rows`, if it is about a list of rows, with its other values.
    pub(super) const fn of(sql: Sql, values: Vec<Value>, rows: Vec<Value>) -> Self {
        Self { sql, values, rows }
    }

    /// Adds the value of the next place.
    pub(in crate::store) fn bind(mut self, value: impl Into<Value>) -> Self {
        self.values.push(value.into());
        self
    }

    /// Tells whoever reads the log at the level `trace` that it ran: its name, how many rows it returned or touched, and how many steps
    /// of its virtual machine SQLite took for them, which `steps` reads.
    pub(super) fn note(&self, rows: usize, steps: impl FnOnce() -> Option<i32>) {
        if tracing::enabled!(tracing::Level::TRACE) {
            tracing::trace!(statement = self.sql.name, rows, steps = steps(), "ran a statement");
        }
    }

    pub(super) fn sqlite_text(&self) -> &'static str {
        planted_bugs::statement(self.sql.sqlite)
    }

    /// Whether it is about a list of rows that is empty: there is nothing to do.
    pub(super) const fn is_empty(&self) -> bool {
        !self.sql.columns.is_empty() && self.rows.is_empty()
    }

    /// The values of each execution on SQLite: those that are shared, then those of a row.
    pub(super) fn executions(&self) -> Executions<'_> {
        let width = self.sql.columns.len();
        Executions { shared: &self.values, rows: &self.rows, width, is_over: self.is_empty() }
    }

    /// The text as this database gets it.
    pub(in crate::store) fn text(&self, dialect: Dialect) -> Cow<'static, str> {
        let postgres = planted_bugs::statement(self.sql.postgres);
        match dialect {
            Dialect::Sqlite => Cow::Borrowed(self.sqlite_text()),
            Dialect::Postgres if postgres.contains('?') => Cow::Owned(number(postgres)),
            Dialect::Postgres => Cow::Borrowed(postgres),
        }
    }

    /// The plan of PostgreSQL instead of the work.
    #[cfg(test)]
    pub(in crate::store) fn explained(self) -> Self {
        let text: &'static str = format!("EXPLAIN {}", self.text(Dialect::Postgres)).leak();
        Self { values: self.values_on_postgres().into_owned(), ..sql(text) }
    }

    /// The values as PostgreSQL gets them.
    pub(super) fn values_on_postgres(&self) -> Cow<'_, [Value]> {
        if self.sql.columns.is_empty() {
            return Cow::Borrowed(&self.values);
        }
        Cow::Owned([self.values.clone(), value::columns(self.sql.columns, &self.rows)].concat())
    }
}

/// Goes through what one statement is to do on SQLite.
pub(super) struct Executions<'s> {
    shared: &'s [Value],
    rows: &'s [Value],
    width: usize,
    is_over: bool,
}

impl<'s> Iterator for Executions<'s> {
    type Item = (&'s [Value], &'s [Value]);

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let (row, rest) = self.rows.split_at(self.width);
        self.rows = rest;
        self.is_over = rest.is_empty();
        Some((self.shared, row))
    }
}

/// Gives each `?` its number, as PostgreSQL has it.
fn number(text: &str) -> String {
    let mut numbered = String::with_capacity(text.len() + 32);
    for (number, part) in text.split('?').enumerate() {
        if number > 0 {
            numbered.push_str(&format!("${number}"));
        }
        numbered.push_str(part);
    }
    numbered
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::database::value::Kind;

    #[test]
    fn places_are_numbered_where_the_database_wants_numbers() {
        let statement = sql("SELECT a FROM t WHERE b = ? AND c = ?");
        assert_eq!(statement.text(Dialect::Sqlite), "SELECT a FROM t WHERE b = ? AND c = ?");
        assert_eq!(statement.text(Dialect::Postgres), "SELECT a FROM t WHERE b = $1 AND c = $2");
    }

    #[test]
    fn a_plain_statement_is_executed_once_and_a_bulk_statement_once_a_row() {
        assert_eq!(sql("SELECT 1").executions().count(), 1);
        static BULK: Sql = Sql { name: "", sqlite: "", postgres: "", columns: &[Kind::Integer; 2] };
        let rows = |count: i64| (0..2 * count).map(Value::from).collect::<Vec<_>>();
        assert_eq!(BULK.over([], rows(0)).executions().count(), 0);
        let statement = BULK.over([Value::from(9i64)], rows(3));
        let last = statement.executions().last().expect("a last row");
        assert_eq!(
            (statement.executions().count(), last.0, last.1),
            (3, &[9i64.into()][..], &[4i64.into(), 5i64.into()][..])
        );
    }
}
