//! What a request ended with, as a row.

use bytes::Bytes;

use crate::store::database::{Column, Columns, Kind};

/// A result to be stored under a number that was drawn for it.
pub(in crate::store) struct NewResult {
    pub(in crate::store) request: i64,
    /// Tokens read and written, where the request completed.
    pub(in crate::store) tokens: Option<(i64, i64)>,
    pub(in crate::store) body: Bytes,
}

pub(in crate::store) static RESULTS: Columns<NewResult> = Columns::new(
    "results",
    &[
        Column::number("seq"),
        Column::new("request", Kind::Integer, |result| result.request.into()),
        Column::new("prompt_tokens", Kind::Integer, |result| result.tokens.map(|(read, _)| read).into()),
        Column::new("completion_tokens", Kind::Integer, |result| {
            result.tokens.map(|(_, written)| written).into()
        }),
        Column::new("body", Kind::Json, |result| result.body.clone().into()),
    ],
);
