//! Lists for people: the newest first, a few on a page, and no more than so many looked through for one.

use crate::store::database::{Row, Statement};
use crate::store::lists::search::Search;
use crate::store::{Store, StoreError};

/// Rows of a page.
pub const PAGE_ROWS: usize = 50;

/// How often the database is asked for one page: what it finds may not be what was looked for.
const ASKED_MAX: usize = 20;

/// A page of a list. Places are row numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListPage<T> {
    /// The rows, the newest first: [`PAGE_ROWS`] at most.
    pub rows: Vec<T>,
    /// Behind which the next page begins; `None` where there is none, or nobody knows.
    pub next: Option<i64>,
    /// Behind which to look on, where so much was looked through that the page was ended before it was full.
    pub looked_through: Option<i64>,
}

/// What is listed.
pub(in crate::store) trait Listed: Sized {
    /// Itself; its row number stands in the column `seq`.
    fn read(row: &Row) -> Result<Self, StoreError>;

    /// In which a text is looked for.
    fn metadata(&self) -> Option<&[u8]>;
}

/// The next page behind `before`. `floor` is the last row that is looked at, where there are more behind it; `statement`
/// asks for so many rows behind one.
pub(in crate::store) async fn page<T: Listed>(
    store: &Store,
    before: Option<i64>,
    floor: Option<i64>,
    search: Option<&Search>,
    statement: impl Fn(i64, usize) -> Statement,
) -> Result<ListPage<T>, StoreError> {
    const WANTED: usize = PAGE_ROWS + 1;
    let (mut rows, mut last_on_page) = (Vec::new(), None);
    let mut behind = before.unwrap_or(i64::MAX);
    for _ in 0..ASKED_MAX {
        let found = store.readers().fetch_all(statement(behind, WANTED)).await?;
        for row in &found {
            let (seq, listed) = (row.get("seq")?, T::read(row)?);
            behind = seq;
            if !search.is_none_or(|search| search.holds(listed.metadata())) {
                continue;
            }
            if rows.len() == PAGE_ROWS {
                return Ok(ListPage { rows, next: last_on_page, looked_through: None });
            }
            last_on_page = Some(seq);
            rows.push(listed);
        }
        if found.len() < WANTED {
            return Ok(ListPage { rows, next: None, looked_through: floor });
        }
    }
    Ok(ListPage { rows, next: None, looked_through: Some(behind) })
}
