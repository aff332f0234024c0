//! JSON Lines, straight from the store's pages to the socket: memory stays the same however long the list is, and a
//! slow reader slows nothing down but itself.

use std::vec;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use futures_util::stream;
use tokio::sync::mpsc::{self, Receiver};
use tracing::{Instrument, Span};

use super::answers;
use crate::app::errors::AppError;
use crate::app::pages::Pages;
use crate::tasks;

/// A chunk is handed to the socket once it has reached this length.
const CHUNK_BYTES: usize = 256 << 10;

/// Room for the line that takes a chunk over its length.
const SLACK_BYTES: usize = 4 << 10;

/// 200 with one line for each row, appended by `write` without its line break.
///
/// The first page is read before anything is answered. After that a failure cuts the connection, so that a client
/// cannot take a part for the whole.
pub(super) async fn answer<P: Pages>(
    mut pages: P,
    write: fn(&P::Row, &mut Vec<u8>),
) -> Result<Response, AppError> {
    let rows = pages.next_page().await?.unwrap_or_default().into_iter();
    let lines = Lines::<P> { rows, ahead: Some(read_ahead(pages)), write, span: Span::current() };
    let chunks = stream::try_unfold(lines, Lines::next_chunk);
    let content_type = HeaderValue::from_static("application/x-ndjson");
    Ok(answers::typed(StatusCode::OK, content_type, Body::from_stream(chunks)))
}

/// While one page is written, the next is read; there are never more than these two.
struct Lines<P: Pages> {
    rows: vec::IntoIter<P::Row>,
    /// `None` once the last page was taken up.
    ahead: Option<Receiver<Page<P>>>,
    write: fn(&P::Row, &mut Vec<u8>),
    /// The call's, which is answered before its list is at an end.
    span: Span,
}

type Page<P> = Result<Option<Vec<<P as Pages>::Row>>, AppError>;

/// Reads on until the list ends or fails, or nobody wants it any more.
fn read_ahead<P: Pages>(mut pages: P) -> Receiver<Page<P>> {
    let (ready, ahead) = mpsc::channel(1);
    let read = async move {
        while let Ok(place) = ready.reserve().await {
            let page = pages.next_page().await;
            let is_last = !matches!(page, Ok(Some(_)));
            place.send(page);
            if is_last {
                break;
            }
        }
    };
    tasks::spawn(read.in_current_span());
    ahead
}

impl<P: Pages> Lines<P> {
    async fn next_chunk(mut self) -> Result<Option<(Bytes, Self)>, AppError> {
        let mut chunk = Vec::with_capacity(CHUNK_BYTES + SLACK_BYTES);
        while chunk.len() < CHUNK_BYTES {
            if let Some(row) = self.rows.next() {
                (self.write)(&row, &mut chunk);
                chunk.push(b'\n');
            } else if !self.turn_page().await? {
                break;
            }
        }
        Ok((!chunk.is_empty()).then(|| (chunk.into(), self)))
    }

    /// Takes the next page up; `false` at the end.
    async fn turn_page(&mut self) -> Result<bool, AppError> {
        let Some(ahead) = &mut self.ahead else { return Ok(false) };
        let page = ahead.recv().await;
        let page = page.unwrap_or_else(|| Err(AppError::stopping()));
        let page = page.inspect_err(|error| {
            let _in_call = self.span.enter();
            tracing::error!(error = error.in_full(), "list response cut: reading its next page failed");
        })?;
        match page {
            Some(rows) => self.rows = rows.into_iter(),
            None => self.ahead = None,
        }
        Ok(self.ahead.is_some())
    }
}
