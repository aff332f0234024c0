//! Columns: their names, and the types of their cells.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use crate::row::Row;

const COLUMNS_MAX: usize = 10_000;

/// The type of a column's non-empty cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    Boolean,
    Integer,
    Number,
    Text,
    /// JSON, as text in formats without a type for it.
    Json,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: Arc<str>,
    /// `None` if all cells are empty.
    pub holds: Option<ColumnType>,
}

impl Column {
    pub fn new(name: impl Into<Arc<str>>, holds: ColumnType) -> Self {
        Self { name: name.into(), holds: Some(holds) }
    }
}

/// The columns of the rows so far, in order of appearance.
#[derive(Debug, Clone, Default)]
pub struct Columns {
    list: Vec<Column>,
    places: HashMap<Arc<str>, usize>,
}

impl Columns {
    /// Columns of unknown types. Fails if a name is repeated or there are too many.
    pub fn named(names: impl IntoIterator<Item = Arc<str>>) -> Result<Self, String> {
        let mut columns = Self::default();
        for name in names {
            if columns.places.contains_key(&name) {
                return Err(format!("two columns are called {name:?}"));
            }
            columns.place_of(&name)?;
        }
        Ok(columns)
    }

    /// Adds the columns of a row. Fails if there are too many.
    pub fn see(&mut self, row: &Row) -> Result<(), String> {
        for (number, (name, value)) in row.cells.iter().enumerate() {
            // Most rows have the columns of the row before.
            let place = match self.list.get(number) {
                Some(column) if Arc::ptr_eq(&column.name, name) || column.name == *name => number,
                _ => self.place_of(name)?,
            };
            let holds = &mut self.list[place].holds;
            *holds = joined(*holds, type_of(value));
        }
        Ok(())
    }

    fn place_of(&mut self, name: &Arc<str>) -> Result<usize, String> {
        if let Some(place) = self.places.get(name) {
            return Ok(*place);
        }
        if self.list.len() == COLUMNS_MAX {
            return Err(format!("has one column more than the {COLUMNS_MAX} of a table"));
        }
        self.places.insert(Arc::clone(name), self.list.len());
        self.list.push(Column { name: Arc::clone(name), holds: None });
        Ok(self.list.len() - 1)
    }

    #[must_use]
    pub fn list(&self) -> &[Column] {
        &self.list
    }

    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    /// Puts a row's cells in the order of the columns, with null for missing ones.
    pub(crate) fn arrange(&self, cells: Vec<(Arc<str>, Value)>) -> Vec<Value> {
        let mut arranged = vec![Value::Null; self.list.len()];
        for (number, (name, value)) in cells.into_iter().enumerate() {
            let is_there = self.list.get(number).is_some_and(|column| column.name == name);
            let place = if is_there { Some(number) } else { self.places.get(&name).copied() };
            if let Some(place) = place {
                arranged[place] = value;
            }
        }
        arranged
    }
}

fn type_of(value: &Value) -> Option<ColumnType> {
    match value {
        Value::Null => None,
        Value::Bool(_) => Some(ColumnType::Boolean),
        Value::Number(number) if number.is_i64() => Some(ColumnType::Integer),
        Value::Number(_) => Some(ColumnType::Number),
        Value::String(_) => Some(ColumnType::Text),
        Value::Array(_) | Value::Object(_) => Some(ColumnType::Json),
    }
}

fn joined(one: Option<ColumnType>, other: Option<ColumnType>) -> Option<ColumnType> {
    use ColumnType::{Integer, Json, Number};
    match (one, other) {
        (None, holds) | (holds, None) => holds,
        (Some(one), Some(other)) if one == other => Some(one),
        (Some(Integer | Number), Some(Integer | Number)) => Some(Number),
        _ => Some(Json),
    }
}

/// A cell as text: text unchanged, null empty, everything else as JSON.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(cells: &[(&str, Value)]) -> Row {
        let cells = cells.iter().map(|(name, value)| (Arc::from(*name), value.clone())).collect();
        Row { line: 1, cells, text: None }
    }

    #[test]
    fn a_column_holds_what_holds_all_of_its_cells() {
        for (values, expected) in [
            (vec![json!(1), json!(2)], Some(ColumnType::Integer)),
            (vec![json!(1), json!(null), json!(2.5)], Some(ColumnType::Number)),
            (vec![json!(u64::MAX)], Some(ColumnType::Number)),
            (vec![json!(true), json!(1)], Some(ColumnType::Json)),
            (vec![json!("a"), json!("b")], Some(ColumnType::Text)),
            (vec![json!([1])], Some(ColumnType::Json)),
            (vec![json!(null)], None),
        ] {
            let mut columns = Columns::default();
            for value in &values {
                columns.see(&row(&[("a", value.clone())])).unwrap();
            }
            assert_eq!(columns.list()[0].holds, expected, "{values:?}");
        }
    }

    #[test]
    fn rows_may_have_columns_of_their_own_and_any_order() {
        let mut columns = Columns::default();
        columns.see(&row(&[("a", json!(1)), ("b", json!(2))])).unwrap();
        columns.see(&row(&[("b", json!(3)), ("c", json!(4))])).unwrap();
        let names: Vec<&str> = columns.list().iter().map(|column| &*column.name).collect();
        assert_eq!(names, ["a", "b", "c"]);
        let arranged = columns.arrange(row(&[("c", json!(4)), ("b", json!(3))]).cells);
        assert_eq!(arranged, [json!(null), json!(3), json!(4)]);
        assert!(Columns::named([Arc::from("a"), Arc::from("a")]).unwrap_err().contains("\"a\""));
    }
}
