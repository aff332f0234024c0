//! A statement with its values.

use std::borrow::Cow;

use overnight_base::planted_bugs;

use crate::database::Dialect;
use crate::database::sql::Sql;
use crate::database::value::{self, Value};

#[derive(Debug, Clone)]
pub(crate) struct Statement {
    sql: Sql,
    values: Vec<Value>,
    rows: Vec<Value>,
}

/// An unlisted statement: one made of a table's columns, or asking for a plan.
pub(crate) const fn sql(text: &'static str) -> Statement {
    Statement::of(Sql::of(text, text), Vec::new(), Vec::new())
}

impl Sql {
    pub(crate) const fn unbound(&self) -> Statement {
        Statement::of(*self, Vec::new(), Vec::new())
    }

    pub(crate) fn bind(&self, value: impl Into<Value>) -> Statement {
        self.unbound().bind(value)
    }

    /// `rows` has a value for every column of every row; `shared` has the values of all rows.
    pub(crate) fn over(&self, shared: impl IntoIterator<Item = Value>, rows: Vec<Value>) -> Statement {
        debug_assert_eq!(rows.len() % self.columns.len(), 0, "{}", self.name);
        Statement::of(*self, shared.into_iter().collect(), rows)
    }
}

impl Statement {
    /// `sql` over `rows`, if it is about a list of rows, with its other values.
    pub(super) const fn of(sql: Sql, values: Vec<Value>, rows: Vec<Value>) -> Self {
        Self { sql, values, rows }
    }

    pub(crate) fn bind(mut self, value: impl Into<Value>) -> Self {
        self.values.push(value.into());
        self
    }

    /// Logs at level `trace` its name, its rows returned or touched, and SQLite's virtual machine steps, which `steps` reads.
    pub(super) fn note(&self, rows: usize, steps: impl FnOnce() -> Option<i32>) {
        if tracing::enabled!(tracing::Level::TRACE) {
            tracing::trace!(statement = self.sql.name, rows, steps = steps(), "ran a statement");
        }
    }

    pub(super) fn sqlite_text(&self) -> &'static str {
        planted_bugs::statement(self.sql.sqlite)
    }

    pub(super) const fn has_list(&self) -> bool {
        !self.sql.columns.is_empty()
    }

    /// Whether its list of rows is empty, so that there is no work.
    pub(super) const fn is_empty(&self) -> bool {
        self.has_list() && self.rows.is_empty()
    }

    /// The values of each execution on SQLite: shared values, then a row's.
    pub(super) fn executions(&self) -> Executions<'_> {
        let width = self.sql.columns.len();
        Executions { shared: &self.values, rows: &self.rows, width, is_over: self.is_empty() }
    }

    pub(crate) fn text(&self, dialect: Dialect) -> Cow<'static, str> {
        let postgres = planted_bugs::statement(self.sql.postgres);
        match dialect {
            Dialect::Sqlite => Cow::Borrowed(self.sqlite_text()),
            Dialect::Postgres if postgres.contains('?') => Cow::Owned(number(postgres)),
            Dialect::Postgres => Cow::Borrowed(postgres),
        }
    }

    /// Asks PostgreSQL for the plan instead.
    #[cfg(test)]
    pub(crate) fn explained(self) -> Self {
        let text: &'static str = format!("EXPLAIN {}", self.text(Dialect::Postgres)).leak();
        Self { values: self.values_on_postgres().into_owned(), ..sql(text) }
    }

    pub(super) fn values_on_postgres(&self) -> Cow<'_, [Value]> {
        if self.sql.columns.is_empty() {
            return Cow::Borrowed(&self.values);
        }
        Cow::Owned([self.values.clone(), value::columns(self.sql.columns, &self.rows)].concat())
    }
}

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

/// Numbers each `?` for PostgreSQL.
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
    use crate::database::value::Kind;

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
