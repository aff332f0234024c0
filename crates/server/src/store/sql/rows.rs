//! Statements over a list of rows. SQLite gets it as `VALUES`, in chunks of a few known sizes, so that few texts serve
//! every count and each is prepared once; every statement is a message to its thread and back, so a usual group is one
//! chunk: any count up to 64 has a text of its own. PostgreSQL gets a column as an array, and one text serves every count.

use std::sync::{Arc, OnceLock};

use super::Dialect;
use super::row::Row;
use super::statement::Statement;
use super::values::Value;
use crate::store::error::StoreError;

/// Up to this, a chunk has any size.
const EXACT_MAX: usize = 64;

/// The sizes beyond, the largest first.
const LARGE: [usize; 2] = [256, 128];

/// What a column of the list holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum Kind {
    Integer,
    Bytes,
    Text,
}

/// A statement with one place for a list of rows; or several, each with a list as long, that SQLite gets as one message.
pub(in crate::store) struct RowsStatement<const PARTS: usize = 1> {
    parts: [Part; PARTS],
    texts: [OnceLock<Arc<str>>; EXACT_MAX + LARGE.len()],
    arrays: OnceLock<Arc<str>>,
}

/// `head list tail`.
pub(in crate::store) struct Part {
    pub(in crate::store) head: &'static str,
    pub(in crate::store) columns: &'static [Kind],
    pub(in crate::store) tail: &'static str,
}

impl Part {
    fn values(&self, rows: usize) -> String {
        let row = format!("({})", vec!["?"; self.columns.len()].join(","));
        format!("{} VALUES {} {}", self.head, vec![row.as_str(); rows].join(","), self.tail)
    }

    fn arrays(&self) -> String {
        let columns: Vec<&str> = self.columns.iter().map(|kind| kind.array()).collect();
        format!("{} SELECT * FROM unnest({}) {}", self.head, columns.join(","), self.tail)
    }
}

impl RowsStatement {
    pub(in crate::store) const fn new(
        head: &'static str,
        columns: &'static [Kind],
        tail: &'static str,
    ) -> Self {
        Self::all([Part { head, columns, tail }])
    }

    /// The statement over `rows`, each with a value for every column, with the values of the places before and behind.
    pub(in crate::store) fn over(
        &self,
        dialect: Dialect,
        before: impl IntoIterator<Item = Value>,
        rows: Vec<Value>,
        behind: impl IntoIterator<Item = Value>,
    ) -> Statement {
        let columns = self.parts[0].columns;
        let mut values: Vec<Value> = before.into_iter().collect();
        let text = match dialect {
            Dialect::Sqlite => {
                let text = self.text(rows.len() / columns.len());
                values.extend(rows);
                text
            }
            Dialect::Postgres => {
                values.extend(transpose(columns, rows));
                Arc::clone(self.arrays.get_or_init(|| self.parts[0].arrays().into()))
            }
        };
        values.extend(behind);
        Statement::made(text, values)
    }
}

impl<const PARTS: usize> RowsStatement<PARTS> {
    /// Several statements, done in order.
    pub(in crate::store) const fn all(parts: [Part; PARTS]) -> Self {
        Self { parts, texts: [const { OnceLock::new() }; EXACT_MAX + LARGE.len()], arrays: OnceLock::new() }
    }

    /// SQLite's text for exactly `rows` rows: one of the sizes that [`chunks`] makes.
    pub(in crate::store) fn text(&self, rows: usize) -> Arc<str> {
        let large = LARGE.iter().position(|size| *size == rows);
        let place = large.map_or(rows - 1, |place| EXACT_MAX + place);
        let text = self.texts[place].get_or_init(|| {
            let texts: Vec<String> = self.parts.iter().map(|part| part.values(rows)).collect();
            texts.join(";").into()
        });
        Arc::clone(text)
    }

    /// SQLite's statement for exactly `rows` rows, with every value in its order.
    pub(in crate::store) fn with(&self, rows: usize, values: Vec<Value>) -> Statement {
        Statement::made(self.text(rows), values)
    }
}

impl Kind {
    const fn array(self) -> &'static str {
        match self {
            Self::Integer => "?::bigint[]",
            Self::Bytes => "?::bytea[]",
            Self::Text => "?::text[]",
        }
    }
}

/// Rows as columns.
fn transpose(columns: &[Kind], rows: Vec<Value>) -> Vec<Value> {
    let count = rows.len() / columns.len();
    let empty = |kind: &Kind| match kind {
        Kind::Integer => Value::Integers(Vec::with_capacity(count)),
        Kind::Bytes => Value::ByteStrings(Vec::with_capacity(count)),
        Kind::Text => Value::Texts(Vec::with_capacity(count)),
    };
    let mut arrays: Vec<Value> = columns.iter().map(empty).collect();
    for (place, value) in rows.into_iter().enumerate() {
        match (&mut arrays[place % columns.len()], value) {
            (Value::Integers(column), Value::Integer(value)) => column.push(value),
            (Value::ByteStrings(column), Value::Bytes(value)) => column.push(value),
            (Value::Texts(column), Value::Text(value)) => column.push(value),
            (_, value) => debug_assert!(false, "{value:?} is not what its column holds"),
        }
    }
    arrays
}

/// Reads one value that joins a list, as `group_concat(concat(…, ',', …), ';')` makes it of numbers: a row for each
/// member would be a message for each.
pub(in crate::store) fn read_joined<const NUMBERS: usize>(
    rows: &[Row],
) -> Result<Vec<[Option<i64>; NUMBERS]>, StoreError> {
    const DAMAGED: StoreError = StoreError::Damaged("a list of numbers");
    let Some(list) = rows.first().map(|row| row.get::<Option<&str>>(0)).transpose()?.flatten() else {
        return Ok(Vec::new());
    };
    let read = |member: &str| {
        let mut numbers = [None; NUMBERS];
        for (number, digits) in
            numbers.iter_mut().zip(member.split(',')).filter(|(_, digits)| !digits.is_empty())
        {
            *number = Some(digits.parse().map_err(|_| DAMAGED)?);
        }
        Ok(numbers)
    };
    list.split(';').map(read).collect()
}

/// Splits `items` into chunks that have a text, the largest first.
pub(in crate::store) fn chunks<T>(items: &[T]) -> impl Iterator<Item = &[T]> {
    let mut rest = items;
    std::iter::from_fn(move || {
        let large = LARGE.into_iter().find(|size| *size <= rest.len());
        let (chunk, after) = rest.split_at(large.unwrap_or(rest.len().min(EXACT_MAX)));
        rest = after;
        (!chunk.is_empty()).then_some(chunk)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_have_a_text_and_lose_nothing() {
        for count in [0usize, 1, 3, 45, 64, 65, 127, 128, 200, 256, 257, 1000] {
            let items: Vec<usize> = (0..count).collect();
            assert!(chunks(&items).all(|chunk| chunk.len() <= EXACT_MAX || LARGE.contains(&chunk.len())));
            assert_eq!(chunks(&items).flatten().copied().collect::<Vec<_>>(), items);
        }
    }

    #[test]
    fn a_text_has_one_place_for_each_value_or_for_each_column() {
        static BOTH: RowsStatement =
            RowsStatement::new("INSERT INTO t", &[Kind::Integer, Kind::Bytes], "RETURNING a");
        let rows = || {
            vec![Value::from(1i64), Value::from(vec![7u8]), Value::from(2i64), Value::from(None::<Vec<u8>>)]
        };
        let text = |dialect| BOTH.over(dialect, [], rows(), []).text(dialect).into_owned();
        assert_eq!(text(Dialect::Sqlite), "INSERT INTO t VALUES (?,?),(?,?) RETURNING a");
        assert_eq!(
            text(Dialect::Postgres),
            "INSERT INTO t SELECT * FROM unnest($1::bigint[],$2::bytea[]) RETURNING a"
        );
        let part = |head| Part { head, columns: &[Kind::Integer], tail: ")" };
        let both = RowsStatement::all([part("DELETE FROM a IN ("), part("DELETE FROM b IN (")]);
        assert_eq!(&*both.text(1), "DELETE FROM a IN ( VALUES (?) );DELETE FROM b IN ( VALUES (?) )");
    }
}
