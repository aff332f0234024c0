//! Statements over a list of rows.

use super::statement::Statement;
use super::value::{Kind, Value};

/// A statement that SQLite executes once for each row of a list, and PostgreSQL once for all of them, with each column as
/// an array.
///
/// In both texts the places are numbered: first the values that all rows share (`?1` or `$1`), then the columns.
#[derive(Debug)]
pub(in crate::store) struct Bulk {
    pub(in crate::store) sqlite: &'static str,
    /// Empty where SQLite alone is asked.
    pub(in crate::store) postgres: &'static str,
    /// What each column of the list holds.
    pub(in crate::store) columns: &'static [Kind],
}

impl Bulk {
    /// The statement over `rows`, which hold a value for every column of every row, with the values that they share.
    pub(in crate::store) fn over(
        &'static self,
        shared: impl IntoIterator<Item = Value>,
        rows: Vec<Value>,
    ) -> Statement {
        debug_assert_eq!(rows.len() % self.columns.len(), 0, "{}", self.sqlite);
        Statement::bulk(self, shared.into_iter().collect(), rows)
    }
}
