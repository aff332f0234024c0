//! Statements over many rows, in chunks of a few known sizes, so that few texts serve every count and each is prepared
//! once. Every statement is a message to the database's thread and back, so a usual group is one chunk: any count up to
//! 64 has a text of its own.

use std::sync::{Arc, OnceLock};

use sqlx::AssertSqlSafe;

use super::error::StoreError;
use super::tx::{Statement, Tx};

/// Up to this, a chunk has any size.
const EXACT_MAX: usize = 64;

/// The sizes beyond, the largest first.
const LARGE: [usize; 2] = [256, 128];

/// A statement with one place for a list of rows: `head VALUES-list tail`.
pub(super) struct RowsStatement {
    head: &'static str,
    columns: usize,
    tail: &'static str,
    texts: [OnceLock<Arc<str>>; EXACT_MAX + LARGE.len()],
}

impl RowsStatement {
    pub(super) const fn new(head: &'static str, columns: usize, tail: &'static str) -> Self {
        Self { head, columns, tail, texts: [const { OnceLock::new() }; EXACT_MAX + LARGE.len()] }
    }

    /// The text for exactly `rows` rows: one of the sizes that [`chunks`] makes.
    pub(super) fn text(&self, rows: usize) -> Arc<str> {
        let large = LARGE.iter().position(|size| *size == rows);
        let place = large.map_or(rows - 1, |place| EXACT_MAX + place);
        let text = self.texts[place].get_or_init(|| {
            let row = format!("({})", vec!["?"; self.columns].join(","));
            format!("{} {} {}", self.head, vec![row.as_str(); rows].join(","), self.tail).into()
        });
        Arc::clone(text)
    }

    /// The statement for exactly `rows` rows; the caller binds the values in order.
    pub(super) fn of(&self, rows: usize) -> Statement<'static> {
        sqlx::query(AssertSqlSafe(self.text(rows)))
    }

    /// Runs it for all `items`, binding each with `bind`; the number of rows touched.
    pub(super) async fn execute<T>(
        &self,
        tx: &mut Tx<'_>,
        items: &[T],
        bind: impl Fn(Statement<'static>, &T) -> Statement<'static>,
    ) -> Result<u64, StoreError> {
        let mut touched = 0;
        for chunk in chunks(items) {
            touched += tx.execute(chunk.iter().fold(self.of(chunk.len()), &bind)).await?;
        }
        Ok(touched)
    }
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
    }
}
