//! Statements over many rows, in chunks of a few known sizes, so that few texts serve every count and each is prepared
//! once. Every statement is a message to the database's thread and back, so a usual group is one chunk: any count up to
//! 64 has a text of its own.

use std::sync::{Arc, OnceLock};

use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Row};

use super::error::StoreError;
use super::tx::Statement;

/// Up to this, a chunk has any size.
const EXACT_MAX: usize = 64;

/// The sizes beyond, the largest first.
const LARGE: [usize; 2] = [256, 128];

/// A statement with one place for a list of rows; or several, each with a list as long, that are one message.
pub(super) struct RowsStatement<const PARTS: usize = 1> {
    parts: [Part; PARTS],
    texts: [OnceLock<Arc<str>>; EXACT_MAX + LARGE.len()],
}

/// `head VALUES-list tail`.
pub(super) struct Part {
    pub(super) head: &'static str,
    pub(super) columns: usize,
    pub(super) tail: &'static str,
}

impl Part {
    fn text(&self, rows: usize) -> String {
        let row = format!("({})", vec!["?"; self.columns].join(","));
        format!("{} {} {}", self.head, vec![row.as_str(); rows].join(","), self.tail)
    }
}

impl RowsStatement {
    pub(super) const fn new(head: &'static str, columns: usize, tail: &'static str) -> Self {
        Self::all([Part { head, columns, tail }])
    }
}

impl<const PARTS: usize> RowsStatement<PARTS> {
    /// Several statements, done in order.
    pub(super) const fn all(parts: [Part; PARTS]) -> Self {
        Self { parts, texts: [const { OnceLock::new() }; EXACT_MAX + LARGE.len()] }
    }

    /// The text for exactly `rows` rows: one of the sizes that [`chunks`] makes.
    pub(super) fn text(&self, rows: usize) -> Arc<str> {
        let large = LARGE.iter().position(|size| *size == rows);
        let place = large.map_or(rows - 1, |place| EXACT_MAX + place);
        let text = self.texts[place].get_or_init(|| {
            let texts: Vec<String> = self.parts.iter().map(|part| part.text(rows)).collect();
            texts.join(";").into()
        });
        Arc::clone(text)
    }

    /// The statement for exactly `rows` rows; the caller binds the values in order.
    pub(super) fn of(&self, rows: usize) -> Statement<'static> {
        sqlx::query(AssertSqlSafe(self.text(rows)))
    }
}

/// Reads one value that joins a list, as `group_concat(concat(…, ',', …), ';')` makes it of numbers: a row for each
/// member would be a message for each.
pub(super) fn read_joined<const NUMBERS: usize>(
    rows: &[SqliteRow],
) -> Result<Vec<[Option<i64>; NUMBERS]>, StoreError> {
    const DAMAGED: StoreError = StoreError::Damaged("a list of numbers");
    let Some(list) = rows.first().map(|row| row.try_get::<Option<&str>, _>(0)).transpose()?.flatten() else {
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
pub(super) fn chunks<T>(items: &[T]) -> impl Iterator<Item = &[T]> {
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
    fn a_text_has_one_place_for_each_value() {
        let statement = RowsStatement::new("INSERT INTO t VALUES", 2, "RETURNING a");
        assert_eq!(&*statement.text(2), "INSERT INTO t VALUES (?,?),(?,?) RETURNING a");
        let part = |head| Part { head, columns: 1, tail: ")" };
        let both = RowsStatement::all([part("DELETE FROM a IN (VALUES"), part("DELETE FROM b IN (VALUES")]);
        assert_eq!(&*both.text(1), "DELETE FROM a IN (VALUES (?) );DELETE FROM b IN (VALUES (?) )");
    }
}
