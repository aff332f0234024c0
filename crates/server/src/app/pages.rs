//! Long lists, page by page. Nothing is held open between two pages, so a slow reader costs nobody anything.

use super::errors::AppError;

/// A list that is read once, from its beginning to its end.
pub trait Pages: Send + 'static {
    type Row: Send + Sync + 'static;

    /// The next rows, none of them where a filter leaves out all that were looked at; `None` at the end.
    fn next_page(&mut self) -> impl Future<Output = Result<Option<Vec<Self::Row>>, AppError>> + Send;
}

/// A list of which the memory is known.
pub trait SizedPages: Pages {
    /// The most bytes that a page holds, but for a page with one larger row.
    fn page_bytes_max(&self) -> usize;

    /// The bytes that a row holds, in memory or as a line, whichever is more.
    fn row_bytes(row: &Self::Row) -> usize;
}
