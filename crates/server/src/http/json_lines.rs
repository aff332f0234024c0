//! JSON Lines, straight from the store's pages to the socket: memory stays the same however long the list is, and a
//! slow reader slows nothing down but itself.

use std::vec;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, StatusCode};
use futures_util::stream;

use super::answers;
use super::errors::Answer;
use crate::app::errors::AppError;
use crate::app::pages::Pages;

/// A chunk is handed to the socket once it has reached this length.
const CHUNK_BYTES: usize = 48 << 10;

/// Room for the line that takes a chunk over its length.
const SLACK_BYTES: usize = 4 << 10;

/// 200 with one line for each row, appended by `write` without its line break.
///
/// The first page is read before anything is answered. After that a failure cuts the connection, so that a client
/// cannot take a part for the whole.
pub(super) async fn answer<P: Pages>(mut pages: P, write: fn(&P::Row, &mut Vec<u8>)) -> Answer {
    let rows = pages.next_page().await?.unwrap_or_default().into_iter();
    let lines = Lines { pages, rows, write };
    let chunks = stream::try_unfold(lines, Lines::next_chunk);
    let content_type = HeaderValue::from_static("application/x-ndjson");
    Ok(answers::typed(StatusCode::OK, content_type, Body::from_stream(chunks)))
}

struct Lines<P: Pages> {
    pages: P,
    rows: vec::IntoIter<P::Row>,
    write: fn(&P::Row, &mut Vec<u8>),
}

impl<P: Pages> Lines<P> {
    async fn next_chunk(mut self) -> Result<Option<(Bytes, Self)>, AppError> {
        let mut chunk = Vec::with_capacity(CHUNK_BYTES + SLACK_BYTES);
        while chunk.len() < CHUNK_BYTES {
            if let Some(row) = self.rows.next() {
                (self.write)(&row, &mut chunk);
                chunk.push(b'\n');
            } else if let Some(rows) = self.next_page().await? {
                self.rows = rows.into_iter();
            } else {
                break;
            }
        }
        Ok((!chunk.is_empty()).then(|| (chunk.into(), self)))
    }

    async fn next_page(&mut self) -> Result<Option<Vec<P::Row>>, AppError> {
        let page = self.pages.next_page().await;
        page.inspect_err(|error| tracing::error!(%error, "a list was cut: its next page could not be read"))
    }
}
