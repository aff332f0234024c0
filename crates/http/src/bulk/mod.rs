//! Bulk create: one Create Request per line. Lines are accepted while they arrive, many concurrently, and answered in order, each with the
//! digest of its line.
//!
//! Some proxies lose bytes of a request whose response has begun (Go's server for HTTP/1.1: golang/go#57786), and bytes of a response that
//! begins as soon as the request has ended (golang/go#40747). So a short body, and one that passed a proxy, gets its response as a whole,
//! or a second after its end if its lines wait.
//!
//! A client that sent `Expect: 100-continue` may not send its body after a response has begun (RFC 9110, section 10.1.1; golang/go#67555), and
//! curl waits a second for `100 Continue`. So its response begins after the first bytes of the body.

mod lines;

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, header};
use axum::response::Response;
use futures_util::stream::{FuturesOrdered, StreamExt};
use futures_util::{FutureExt, Stream, stream};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use overnight_app::api_keys::Opened;
use overnight_app::errors::AppError;
use overnight_app::idempotency::Answered;
use overnight_app::{Actor, ActorId, ReadsFor, requests};
use overnight_base::tasks;
use overnight_domain::ids::CallId;
use overnight_outgoing::traces;
use overnight_wire::native::bulk::{self as wire, write_created, write_refused, write_repeated};
use overnight_wire::native::errors::ErrorBody;
use overnight_wire::native::requests::write_status;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;
use tracing::Instrument;

use self::lines::{Line, lines};
use super::answers;
use super::bodies::Buffers;
use super::calls;
use super::context::Shared;
use super::counters;
use super::errors::{self, Refusal};
use super::idempotency::CallName;
use super::json_lines::JSON_LINES;
use super::shares::{self, Buffer, BulkPermit, Client, LinePermit};

/// The memory of short lines that are being accepted.
const BYTES_MAX: usize = 1 << 20;

/// Answers are sent once they reach this length, or no further one is ready.
const CHUNK_BYTES: usize = 16 << 10;

/// A body up to this length is answered as a whole.
const SHORT_BYTES: u64 = 1 << 20;

/// The latest begin of a response after the end of its body.
const BEGIN_AFTER_MS: i64 = 1_000;

/// Headers by which a proxy announces itself.
const OF_PROXIES: [HeaderName; 4] = [
    header::VIA,
    header::FORWARDED,
    HeaderName::from_static("x-forwarded-for"),
    HeaderName::from_static("x-forwarded-proto"),
];

/// The maximum faults reported per line; the rest are counted.
const DETAILS_MAX: usize = 20;

/// The account and name of a bulk create.
pub(super) struct Bulk {
    pub(super) context: Shared,
    /// The result of the key's check when the call began.
    pub(super) opened: Opened,
    /// The name in `X-Request-Id`.
    pub(super) call: CallId,
    pub(super) name: CallName,
}

/// Some lines of the answer; `None` at its end. If it is missing, the answer broke off.
type Part = Result<Option<Bytes>, BrokenOff>;

/// The body broke off, or the service stops.
#[derive(Debug, thiserror::Error)]
#[error("the body broke off before its end, or the service stops")]
struct BrokenOff;

impl Bulk {
    /// 200 with a line for each line of the body that is not blank. If the body breaks off, so does the answer. Fails with
    /// [`Refusal::TooManyCalls`] if the account has too many of these calls under way.
    ///
    /// Lines are accepted even if the client reads no answers, as long as there is memory for these. If there is none, the response begins,
    /// whatever the body.
    pub(super) async fn answer(
        self,
        headers: &HeaderMap,
        body: Body,
        buffers: Buffers,
    ) -> Result<Response, Refusal> {
        let Some(permit) = self.context.shares.begin_bulk(Client::Account(self.opened.account)) else {
            counters::count_over_share("bulk");
            return Err(Refusal::TooManyCalls);
        };
        let limit = self.context.services.config().limits.request_body_bytes;
        let (parts, ready) = mpsc::unbounded_channel();
        let key = self.opened.key;
        let is_whole = is_answered_as_whole(headers, &body);
        let (body, first_bytes) = watched(body);
        let clock = Arc::clone(&self.context.services.clock);
        let (begin, may_begin) = oneshot::channel();
        let (finish, finished) = oneshot::channel::<Infallible>();
        let work = async move {
            let _finish = finish;
            let lines = lines(body, buffers, limit);
            let run = Run { bulk: &self, permit: &permit, parts: &parts, has_logged: AtomicBool::new(false) };
            tokio::select! {
                () = run.take_all(lines, begin) => {}
                () = parts.closed() => {}
            }
        };
        let actor = Actor { id: ActorId::ApiKey(key), address: None };
        tasks::spawn(actor.scope(traces::in_current_call(ReadsFor::current().scope(work.in_current_span()))));
        if headers.contains_key(header::EXPECT) {
            let _ = first_bytes.await;
        }
        if is_whole && may_begin.await.is_err() {
            tokio::select! {
                _ = finished => {}
                () = clock.sleep_until(clock.now() + BEGIN_AFTER_MS) => {}
            }
        }
        let chunks = stream::try_unfold(ready, next_chunk);
        Ok(answers::typed(StatusCode::OK, JSON_LINES, Body::from_stream(chunks)))
    }
}

/// Whether the response begins after the body has ended.
fn is_answered_as_whole(headers: &HeaderMap, body: &Body) -> bool {
    let is_short = body.size_hint().exact().is_some_and(|length| length <= SHORT_BYTES);
    is_short || OF_PROXIES.iter().any(|name| headers.contains_key(name))
}

/// The body, and a receiver that ends with its first bytes, or without any.
fn watched(body: Body) -> (Body, oneshot::Receiver<Infallible>) {
    let (waits, first_bytes) = oneshot::channel();
    let mut waits = Some(waits);
    let body = body.map_frame(move |frame| {
        drop(waits.take());
        frame
    });
    (Body::new(body), first_bytes)
}

async fn next_chunk(
    mut ready: UnboundedReceiver<Part>,
) -> Result<Option<(Bytes, UnboundedReceiver<Part>)>, BrokenOff> {
    let part = ready.recv().await.unwrap_or(Err(BrokenOff))?;
    Ok(part.map(|chunk| (chunk, ready)))
}

struct Run<'b> {
    bulk: &'b Bulk,
    permit: &'b BulkPermit,
    parts: &'b UnboundedSender<Part>,
    has_logged: AtomicBool,
}

impl Run<'_> {
    /// Never waits without polling the lines under way, because they hold turns that other accounts wait for. `begin` is sent once answers
    /// wait for memory, and dropped once the body has ended.
    async fn take_all(&self, lines: impl Stream<Item = Result<Line, Refusal>>, begin: oneshot::Sender<()>) {
        let mut begin = Some(begin);
        let mut lines = pin!(lines.fuse());
        let mut under_way = FuturesOrdered::new();
        let mut bytes_under_way = 0;
        // A line that waits to be accepted, and an answer that waits for memory.
        let (mut waiting, mut held) = (None, None);
        let mut end = None;
        let mut chunk = Vec::new();
        loop {
            if held.is_none() && !chunk.is_empty() {
                held = Some(Box::pin(self.hold(std::mem::take(&mut chunk))));
            }
            if end.is_none() && self.bulk.context.services.signals.is_stopping() {
                (end, waiting) = (Some(Err(BrokenOff)), None);
            }
            if end.is_some() {
                begin = None;
            } else if held.is_some() && !chunk.is_empty() {
                begin.take().map(|begin| begin.send(()));
            }
            if end.is_some() && waiting.is_none() && held.is_none() && under_way.is_empty() {
                break;
            }
            let has_room =
                end.is_none() && waiting.is_none() && chunk.is_empty() && bytes_under_way < BYTES_MAX;
            tokio::select! {
                biased;
                bytes = poll_some(&mut held), if held.is_some() => {
                    held = None;
                    if self.parts.send(Ok(Some(bytes))).is_err() {
                        return;
                    }
                }
                Some((bytes, answer, _)) = under_way.next(), if !under_way.is_empty() => {
                    bytes_under_way -= bytes;
                    chunk.extend::<Vec<u8>>(answer);
                    // Other ready answers join the chunk.
                    while chunk.len() < CHUNK_BYTES
                        && let Some(Some((bytes, answer, _))) = under_way.next().now_or_never()
                    {
                        bytes_under_way -= bytes;
                        chunk.extend(answer);
                    }
                }
                (line, permit) = poll_some(&mut waiting), if waiting.is_some() => {
                    waiting = None;
                    let bytes = line_bytes(&line);
                    bytes_under_way += bytes;
                    // The permit is kept until the answer's turn, so that answers behind a slow one are bounded too.
                    under_way.push_back(async move { (bytes, self.take_in(line).await, permit) });
                }
                line = lines.next(), if has_room => match line {
                    Some(Ok(line)) => waiting = Some(Box::pin(self.admit(line))),
                    Some(Err(_)) => end = Some(Err(BrokenOff)),
                    None => end = Some(Ok(None)),
                },
            }
        }
        _ = self.parts.send(end.unwrap_or(Err(BrokenOff)));
    }

    /// The line, once its account has room for one more and may create one more in this second. The key is checked again: since the call
    /// began it may have been revoked, or the account suspended.
    async fn admit(&self, mut line: Line) -> (Line, Option<LinePermit>) {
        let permit = self.permit.begin_line().await;
        if line.content.is_ok()
            && let Err(refusal) =
                calls::check_again(&self.bulk.context, self.bulk.opened, &Method::POST).await
        {
            line.content = Err(refusal);
        }
        if line.content.is_ok() {
            requests::take_rate(&self.bulk.context.services, self.bulk.opened.account).await;
        }
        (line, permit)
    }

    /// Accepts a line, and returns its answer.
    async fn take_in(&self, Line { number, sha256, content }: Line) -> Vec<u8> {
        let to = wire::Answered { line: number, sha256: &sha256 };
        let answered = match content {
            Ok(content) => {
                let call = self.bulk.name.of_line(number).repeatable(write_status);
                let Bulk { context, opened, .. } = self.bulk;
                requests::create_within(
                    &context.services,
                    opened.account,
                    requests::Sent::chat(content, Ok, call),
                    Ok(()),
                )
                .await
                .map_err(Refusal::from)
            }
            Err(refusal) => Err(refusal),
        };
        let mut out = Vec::with_capacity(288);
        match answered {
            Ok(Answered::New(request)) => write_created(to, &request, &mut out),
            Ok(Answered::Repeat(record)) => write_repeated(to, &record, &mut out),
            Err(refusal) => write_refused(to, &self.told(&refusal), &mut out),
        }
        out
    }

    /// The answer to a refused line. Internal faults are logged once per call.
    fn told(&self, refusal: &Refusal) -> ErrorBody {
        let call = self.bulk.call;
        if let Refusal::App(error @ (AppError::Internal(_) | AppError::StoreAway { .. })) = refusal
            && !self.has_logged.swap(true, Ordering::Relaxed)
        {
            errors::log(error, format_args!("a line of call {call}"));
        }
        let mut body = refusal.body(call);
        if let Refusal::TooLarge(limit) = refusal {
            body.message = format!("the line must be at most {limit} bytes");
        }
        if body.details.len() > DETAILS_MAX {
            body.details_total = body.details_total.or(Some(body.details.len() as u64));
            body.details.truncate(DETAILS_MAX);
        }
        body
    }

    /// The chunk with memory of the account's share for responses, once there is some.
    async fn hold(&self, chunk: Vec<u8>) -> Bytes {
        let client = Client::Account(self.bulk.opened.account);
        match self.bulk.context.shares.memory(Buffer::Responses, client, chunk.len()).await {
            Some(memory) => shares::hold(chunk.into(), Arc::new(memory)),
            None => chunk.into(),
        }
    }
}

fn line_bytes(line: &Line) -> usize {
    line.content.as_ref().map_or(0, Bytes::len)
}

/// Polls the future if there is one; otherwise stays pending.
async fn poll_some<F: Future + Unpin>(future: &mut Option<F>) -> F::Output {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}
