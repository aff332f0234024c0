//! What a request ended with, as a row.

use bytes::Bytes;

use super::database::{Column, Columns, Kind};

/// A result to be stored under a number that was drawn for it.
pub(super) struct NewResult {
    pub(super) request: i64,
    /// Tokens read and written, where the request completed.
    pub(super) tokens: Option<(i64, i64)>,
    pub(super) body: Bytes,
}

pub(super) static RESULTS: Columns<NewResult> = Columns::new(
    "results",
    &[
        Column::number("seq"),
        Column::new("request", Kind::Integer, |result| result.request.into()),
        Column::new("prompt_tokens", Kind::Integer, |result| result.tokens.map(|(read, _)| read).into()),
        Column::new("completion_tokens", Kind::Integer, |result| {
            result.tokens.map(|(_, written)| written).into()
        }),
        Column::new("body", Kind::Bytes, |result| result.body.clone().into()),
    ],
);
