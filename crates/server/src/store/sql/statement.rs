//! A statement with its values. Places of values are written `?`.

use std::borrow::Cow;
use std::sync::Arc;

use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::sqlite::SqliteArguments;
use sqlx::{AssertSqlSafe, Postgres, Sqlite};

use super::Dialect;
use super::values::{self, Value};
use crate::store::StoreError;

/// What is to be done, and with which values.
#[derive(Debug, Clone)]
pub(in crate::store) struct Statement {
    text: Text,
    values: Vec<Value>,
    locks: bool,
}

#[derive(Debug, Clone)]
enum Text {
    Both(&'static str),
    Each { sqlite: &'static str, postgres: &'static str },
    Made(Arc<str>),
}

/// A statement that both databases understand.
pub(in crate::store) const fn sql(text: &'static str) -> Statement {
    Statement { text: Text::Both(text), values: Vec::new(), locks: false }
}

/// A statement that takes the same values in both, and has a text for each.
pub(in crate::store) const fn sql_each(sqlite: &'static str, postgres: &'static str) -> Statement {
    Statement { text: Text::Each { sqlite, postgres }, values: Vec::new(), locks: false }
}

impl Statement {
    pub(super) const fn made(text: Arc<str>, values: Vec<Value>) -> Self {
        Self { text: Text::Made(text), values, locks: false }
    }

    /// Adds the value of the next place.
    pub(in crate::store) fn bind(mut self, value: impl Into<Value>) -> Self {
        self.values.push(value.into());
        self
    }

    /// Locks the rows that it reads until the transaction ends, where others may write at the same time.
    pub(in crate::store) const fn locking(mut self) -> Self {
        self.locks = true;
        self
    }

    /// The text as this database gets it.
    pub(in crate::store) fn text(&self, dialect: Dialect) -> Cow<'_, str> {
        let text = match &self.text {
            Text::Both(text) => text,
            Text::Each { sqlite, postgres } => match dialect {
                Dialect::Sqlite => sqlite,
                Dialect::Postgres => postgres,
            },
            Text::Made(text) => &**text,
        };
        match dialect {
            Dialect::Sqlite => Cow::Borrowed(text),
            Dialect::Postgres => Cow::Owned(number(text, self.locks)),
        }
    }

    /// The plan of PostgreSQL instead of the work.
    #[cfg(test)]
    pub(in crate::store) fn explained(self) -> Self {
        let text = format!("EXPLAIN {}", self.text(Dialect::Postgres));
        Self { text: Text::Made(text.into()), values: self.values, locks: false }
    }

    pub(super) fn for_sqlite<'q>(self) -> Result<Query<'q, Sqlite, SqliteArguments>, StoreError> {
        let values = values::for_sqlite(self.values)?;
        Ok(match self.text {
            Text::Both(text) | Text::Each { sqlite: text, .. } => sqlx::query_with(text, values),
            Text::Made(text) => sqlx::query_with(AssertSqlSafe(text), values),
        })
    }

    pub(super) fn for_postgres<'q>(self) -> Result<Query<'q, Postgres, PgArguments>, StoreError> {
        let text = self.text(Dialect::Postgres).into_owned();
        Ok(sqlx::query_with(AssertSqlSafe(text), values::for_postgres(self.values)?))
    }
}

/// Gives each `?` its number, as PostgreSQL has it.
fn number(text: &str, locks: bool) -> String {
    let mut numbered = String::with_capacity(text.len() + 32);
    for (number, part) in text.split('?').enumerate() {
        if number > 0 {
            numbered.push_str(&format!("${number}"));
        }
        numbered.push_str(part);
    }
    if locks {
        numbered.push_str(" FOR UPDATE");
    }
    numbered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_numbered_where_the_database_wants_numbers() {
        let statement = sql("SELECT a FROM t WHERE b = ? AND c = ?").locking();
        assert_eq!(statement.text(Dialect::Sqlite), "SELECT a FROM t WHERE b = ? AND c = ?");
        assert_eq!(statement.text(Dialect::Postgres), "SELECT a FROM t WHERE b = $1 AND c = $2 FOR UPDATE");
    }
}
