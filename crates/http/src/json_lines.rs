//! JSON Lines, streamed from the store's pages to the socket: a list holds two pages, and a slow reader delays no other call. The memory of
//! a page is taken from its account's share before it is read, and returned when the last of its lines was sent.

use std::sync::Arc;
use std::{io, vec};

use axum::BoxError;
use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use futures_util::{StreamExt as _, stream};
use overnight_app::ReadsFor;
use overnight_app::errors::AppError;
use overnight_app::pages::SizedPages;
use overnight_base::tasks;
use overnight_domain::ids::CallId;
use overnight_domain::scheduler::AccountKey;
use tokio::sync::mpsc::{self, Receiver};
use tracing::{Instrument, Span};

use super::answers;
use super::context::Shared;
use super::errors::{Refusal, WriteRefusal};
use super::shares::{self, Buffer, Client, MemoryPermit};

/// A chunk is sent once it reaches this length.
const CHUNK_BYTES: usize = 256 << 10;

/// The media type of JSON Lines, unless a dialect has another.
pub const JSON_LINES: HeaderValue = HeaderValue::from_static("application/x-ndjson");

/// Space for the line that exceeds a chunk's length.
const SLACK_BYTES: usize = 4 << 10;

/// 200 of this type with one line for each row, appended by `write` without its line break.
///
/// The first page is read before the answer begins. A later failure ends the list with an error line, see [`end_in_words`], and cuts the
/// connection, so that a client cannot take a part for the whole. Fails with [`AppError::Unavailable`] if unread responses hold the
/// account's memory.
pub async fn answer<P: SizedPages>(
    context: &Shared,
    account: AccountKey,
    mut pages: P,
    content_type: HeaderValue,
    write: fn(&P::Row, &mut Vec<u8>),
) -> Result<Response, AppError> {
    let page = loop {
        let memory = ask_memory(context, account, pages.page_bytes_max()).await?;
        match read_page(memory, &mut pages).await? {
            // Its memory goes to waiting calls: a search with few results reads many pages.
            Some(page) if page.is_empty() => {}
            page => break page,
        }
    };
    let ahead = page.is_some().then(|| read_ahead(Arc::clone(context), account, pages));
    let lines = Lines::<P> { page, ahead, write, span: Span::current() };
    let chunks = stream::try_unfold(lines, Lines::next_chunk);
    Ok(response(content_type, Body::from_stream(chunks)))
}

/// The bytes of the lines that [`answer`] would send. Reads page by page, each in its account's share of memory. Fails like it.
pub(super) async fn measure<P: SizedPages>(
    context: &Shared,
    account: AccountKey,
    mut pages: P,
    write: fn(&P::Row, &mut Vec<u8>),
) -> Result<i64, AppError> {
    let (mut bytes, mut line) = (0, Vec::new());
    loop {
        let memory = ask_memory(context, account, pages.page_bytes_max()).await?;
        let Some(page) = read_page(memory, &mut pages).await? else { return Ok(bytes) };
        for row in page.rows {
            line.clear();
            write(&row, &mut line);
            bytes += line.len() as i64 + 1;
        }
    }
}

/// Marks a response that ends with an error line if it is cut.
#[derive(Clone, Copy)]
pub(super) struct EndsInWords;

/// 200 of this type with these lines.
pub(super) fn response(content_type: HeaderValue, lines: Body) -> Response {
    let mut response = answers::typed(StatusCode::OK, content_type, lines);
    response.extensions_mut().insert(EndsInWords);
    response
}

/// The body of a list. If it fails, it ends with an error line in the dialect's form, and then cuts the connection, because a proxy that
/// uses HTTP/1.0 takes a cut connection for the end of a complete response.
pub(super) fn end_in_words(body: Body, call: CallId, write_refusal: WriteRefusal) -> Body {
    /// Turns of the connection to write the line before it is cut.
    const TURNS: usize = 8;
    let chunks = stream::unfold(Some(body.into_data_stream()), move |rest| async move {
        let Some(mut rest) = rest else {
            for _ in 0..TURNS {
                tokio::task::yield_now().await;
            }
            return Some((Err(io::Error::other("the list was cut")), None));
        };
        match rest.next().await? {
            Ok(chunk) => Some((Ok(chunk), Some(rest))),
            Err(error) => {
                let refusal = root(error.into()).downcast();
                let refusal = refusal.map_or(Refusal::Panicked, |error| Refusal::App(*error));
                Some((Ok(line_of(&refusal, call, write_refusal).await), None))
            }
        }
    });
    Body::from_stream(chunks)
}

/// The cause of a failed body: each layer of the router wraps it.
fn root(error: BoxError) -> BoxError {
    match error.downcast::<axum::Error>() {
        Ok(wrapped) => root(wrapped.into_inner()),
        Err(error) => error,
    }
}

async fn line_of(refusal: &Refusal, call: CallId, write_refusal: WriteRefusal) -> Bytes {
    let mut response = Response::default();
    write_refusal(refusal, call, &mut response);
    // It is in memory, so this cannot fail.
    let line = to_bytes(response.into_body(), usize::MAX).await.unwrap_or_default();
    [&line[..], b"\n"].concat().into()
}

/// While one page is written, the next is read; there are at most these two.
struct Lines<P: SizedPages> {
    /// `None` once its last row was written.
    page: Option<Page<P>>,
    /// `None` once the last page was received.
    ahead: Option<Receiver<Result<Option<Page<P>>, AppError>>>,
    write: fn(&P::Row, &mut Vec<u8>),
    /// The span of the call, which is answered before its list ends.
    span: Span,
}

struct Page<P: SizedPages> {
    rows: vec::IntoIter<P::Row>,
    bytes: usize,
    memory: Arc<MemoryPermit>,
}

impl<P: SizedPages> Page<P> {
    fn is_empty(&self) -> bool {
        self.rows.as_slice().is_empty()
    }
}

/// The memory of a page of `bytes_max`; fails if none becomes free.
async fn ask_memory(
    context: &Shared,
    account: AccountKey,
    bytes_max: usize,
) -> Result<MemoryPermit, AppError> {
    const WHY: &str = "responses that were not read hold all of your memory";
    context.memory(Buffer::Responses, Client::Account(account), bytes_max, WHY).await
}

/// The memory of a page of `bytes_max`, once it is free.
async fn take_memory(
    context: &Shared,
    account: AccountKey,
    bytes_max: usize,
) -> Result<MemoryPermit, AppError> {
    let memory = context.shares.memory(Buffer::Responses, Client::Account(account), bytes_max).await;
    memory.ok_or_else(AppError::stopping)
}

async fn read_page<P: SizedPages>(
    mut memory: MemoryPermit,
    pages: &mut P,
) -> Result<Option<Page<P>>, AppError> {
    let Some(rows) = pages.next_page().await? else { return Ok(None) };
    let bytes = rows.iter().map(P::row_bytes).sum();
    memory.correct(bytes + SLACK_BYTES);
    Ok(Some(Page { rows: rows.into_iter(), bytes, memory: Arc::new(memory) }))
}

/// Reads until the list ends, fails or is dropped.
fn read_ahead<P: SizedPages>(
    context: Shared,
    account: AccountKey,
    mut pages: P,
) -> Receiver<Result<Option<Page<P>>, AppError>> {
    let (ready, ahead) = mpsc::channel(1);
    let bytes_max = pages.page_bytes_max();
    let read = async move {
        while let Ok(place) = ready.reserve().await {
            let read = async {
                let memory = take_memory(&context, account, bytes_max).await?;
                read_page(memory, &mut pages).await
            };
            // A read whose client has left ends early; it could scan a million rows.
            let page = tokio::select! {
                page = read => page,
                () = ready.closed() => break,
            };
            if matches!(&page, Ok(Some(page)) if page.is_empty()) {
                continue;
            }
            let is_last = !matches!(page, Ok(Some(_)));
            place.send(page);
            if is_last {
                break;
            }
        }
    };
    tasks::spawn(ReadsFor::current().scope(read.in_current_span()));
    ahead
}

impl<P: SizedPages> Lines<P> {
    /// Lines of one page: a list that waits for the next page keeps no lines of the last.
    async fn next_chunk(mut self) -> Result<Option<(Bytes, Self)>, AppError> {
        let Some(mut page) = self.turn_page().await? else { return Ok(None) };
        let mut chunk = Vec::with_capacity(page.bytes.min(CHUNK_BYTES) + SLACK_BYTES);
        while chunk.len() < CHUNK_BYTES
            && let Some(row) = page.rows.next()
        {
            (self.write)(&row, &mut chunk);
            chunk.push(b'\n');
        }
        let chunk = shares::hold(chunk.into(), Arc::clone(&page.memory));
        self.page = (page.rows.len() > 0).then_some(page);
        Ok(Some((chunk, self)))
    }

    /// The page to write next; `None` at the end.
    async fn turn_page(&mut self) -> Result<Option<Page<P>>, AppError> {
        if let Some(page) = self.page.take() {
            return Ok(Some(page));
        }
        let Some(ahead) = &mut self.ahead else { return Ok(None) };
        let page = ahead.recv().await;
        let page = page.unwrap_or_else(|| Err(AppError::stopping()));
        page.inspect_err(|error| {
            let _in_call = self.span.enter();
            tracing::error!(error = error.in_full(), "list response cut: reading its next page failed");
        })
    }
}
