//! Statements over many rows, in chunks of 2^k ≤ 256, so that few texts serve every count and each is prepared once.

use std::sync::{Arc, OnceLock};

use sqlx::AssertSqlSafe;

use super::error::StoreError;
use super::tx::{Statement, Tx};

/// Chunks of up to 2^8 rows.
const POWER_MAX: u32 = 8;
const POWERS: usize = POWER_MAX as usize + 1;

/// A statement with one place for a list of rows: `head VALUES-list tail`.
pub(super) struct RowsStatement {
    head: &'static str,
    columns: usize,
    tail: &'static str,
    texts: [OnceLock<Arc<str>>; POWERS],
}

impl RowsStatement {
    pub(super) const fn new(head: &'static str, columns: usize, tail: &'static str) -> Self {
        Self { head, columns, tail, texts: [const { OnceLock::new() }; POWERS] }
    }

    /// The text for `2^power` rows.
    pub(super) fn text(&self, power: usize) -> Arc<str> {
        let text = self.texts[power].get_or_init(|| {
            let row = format!("({})", vec!["?"; self.columns].join(","));
            format!("{} {} {}", self.head, vec![row.as_str(); 1 << power].join(","), self.tail).into()
        });
        Arc::clone(text)
    }

    /// The statement for exactly `rows` rows, a power of two; the caller binds the values in order.
    pub(super) fn of(&self, rows: usize) -> Statement<'static> {
        debug_assert!(rows.is_power_of_two(), "chunks are powers of two");
        sqlx::query(AssertSqlSafe(self.text(rows.trailing_zeros() as usize)))
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

/// Splits `items` into chunks of powers of two, 256 at most, the largest first.
pub(super) fn chunks<T>(items: &[T]) -> impl Iterator<Item = &[T]> {
    let mut rest = items;
    std::iter::from_fn(move || {
        let power = rest.len().checked_ilog2()?.min(POWER_MAX);
        let (chunk, after) = rest.split_at(1 << power);
        rest = after;
        Some(chunk)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_powers_of_two_and_lose_nothing() {
        for count in [0usize, 1, 3, 45, 256, 257, 1000] {
            let items: Vec<usize> = (0..count).collect();
            assert!(chunks(&items).all(|chunk| chunk.len().is_power_of_two() && chunk.len() <= 256));
            assert_eq!(chunks(&items).flatten().copied().collect::<Vec<_>>(), items);
        }
    }

    #[test]
    fn a_text_has_one_place_for_each_value() {
        let statement = RowsStatement::new("INSERT INTO t VALUES", 2, "RETURNING a");
        assert_eq!(&*statement.text(1), "INSERT INTO t VALUES (?,?),(?,?) RETURNING a");
    }
}
