//! A statement with its values.

use std::borrow::Cow;

use super::Dialect;
use super::bulk::Bulk;
use super::value::{self, Value};

/// What is to be done, and with which values.
#[derive(Debug, Clone)]
pub(in crate::store) struct Statement {
    text: Text,
    values: Vec<Value>,
    bulk: Option<(&'static Bulk, Vec<Value>)>,
    is_locking: bool,
}

#[derive(Debug, Clone, Copy)]
enum Text {
    Both(&'static str),
    Each { sqlite: &'static str, postgres: &'static str },
}

/// A statement that both databases understand. The places of its values are written `?`.
pub(in crate::store) const fn sql(text: &'static str) -> Statement {
    Statement { text: Text::Both(text), values: Vec::new(), bulk: None, is_locking: false }
}

/// A statement that takes the same values in both, and has a text for each.
pub(in crate::store) const fn sql_each(sqlite: &'static str, postgres: &'static str) -> Statement {
    Statement { text: Text::Each { sqlite, postgres }, values: Vec::new(), bulk: None, is_locking: false }
}

impl Statement {
    /// `bulk` over `rows`, which hold a value for each of its columns; `shared` are the values that all rows share.
    pub(super) const fn bulk(bulk: &'static Bulk, shared: Vec<Value>, rows: Vec<Value>) -> Self {
        let text = Text::Each { sqlite: bulk.sqlite, postgres: bulk.postgres };
        Self { text, values: shared, bulk: Some((bulk, rows)), is_locking: false }
    }

    /// Adds the value of the next place.
    pub(in crate::store) fn bind(mut self, value: impl Into<Value>) -> Self {
        self.values.push(value.into());
        self
    }

    /// Locks the rows that it reads until the transaction ends, where others may write at the same time.
    pub(in crate::store) const fn locking(mut self) -> Self {
        self.is_locking = true;
        self
    }

    pub(super) const fn sqlite_text(&self) -> &'static str {
        match self.text {
            Text::Both(text) | Text::Each { sqlite: text, .. } => text,
        }
    }

    /// Whether it is about a list of rows that is empty: there is nothing to do.
    pub(super) fn is_empty(&self) -> bool {
        self.bulk.as_ref().is_some_and(|(_, rows)| rows.is_empty())
    }

    /// The values of each execution on SQLite: those that are shared, then those of a row.
    pub(super) fn executions(&self) -> Executions<'_> {
        match &self.bulk {
            None => Executions { shared: &self.values, rows: &[], width: 0, is_over: false },
            Some((bulk, rows)) => {
                Executions { shared: &self.values, rows, width: bulk.columns.len(), is_over: rows.is_empty() }
            }
        }
    }

    /// The text as this database gets it.
    pub(in crate::store) fn text(&self, dialect: Dialect) -> Cow<'static, str> {
        let text = match self.text {
            Text::Both(text) => text,
            Text::Each { sqlite, postgres } => match dialect {
                Dialect::Sqlite => sqlite,
                Dialect::Postgres => postgres,
            },
        };
        match dialect {
            Dialect::Postgres if self.is_locking || text.contains('?') => {
                Cow::Owned(number(text, self.is_locking))
            }
            _ => Cow::Borrowed(text),
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
        match &self.bulk {
            None => Cow::Borrowed(&self.values),
            Some((bulk, rows)) => {
                Cow::Owned([self.values.clone(), value::columns(bulk.columns, rows)].concat())
            }
        }
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
fn number(text: &str, is_locking: bool) -> String {
    let mut numbered = String::with_capacity(text.len() + 32);
    for (number, part) in text.split('?').enumerate() {
        if number > 0 {
            numbered.push_str(&format!("${number}"));
        }
        numbered.push_str(part);
    }
    if is_locking {
        numbered.push_str(" FOR UPDATE");
    }
    numbered
}

#[cfg(test)]
mod tests {
    use super::super::value::Kind;
    use super::*;

    #[test]
    fn places_are_numbered_where_the_database_wants_numbers() {
        let statement = sql("SELECT a FROM t WHERE b = ? AND c = ?").locking();
        assert_eq!(statement.text(Dialect::Sqlite), "SELECT a FROM t WHERE b = ? AND c = ?");
        assert_eq!(statement.text(Dialect::Postgres), "SELECT a FROM t WHERE b = $1 AND c = $2 FOR UPDATE");
    }

    #[test]
    fn a_plain_statement_is_executed_once_and_a_bulk_statement_once_a_row() {
        assert_eq!(sql("SELECT 1").executions().count(), 1);
        static BULK: Bulk = Bulk { sqlite: "", postgres: "", columns: &[Kind::Integer; 2] };
        let rows = |count: i64| (0..2 * count).map(Value::from).collect::<Vec<_>>();
        assert_eq!(BULK.over([], rows(0)).executions().count(), 0);
        let statement = BULK.over([Value::from(9i64)], rows(3));
        let last = statement.executions().last().expect("a last row");
        assert_eq!((statement.executions().count(), last.0, last.1), (3, &[9i64.into()][..], &[4i64.into(), 5i64.into()][..]));
    }
}
