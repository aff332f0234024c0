//! Bulk create: one Create Request a line, streamed both ways. Lines are taken in while they come, many at once, and answered in
//! their order.

mod lines;

use std::pin::pin;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::response::Response;
use futures_util::stream::{FuturesOrdered, StreamExt};
use futures_util::{FutureExt, Stream, stream};
use overnight_domain::ids::CallId;
use overnight_domain::quotas::{Quota, QuotaExceeded};
use overnight_domain::records::RequestSummary;
use overnight_domain::scheduler::AccountKey;
use overnight_wire::native::bulk::{write_created, write_refused, write_repeated};
use overnight_wire::native::requests::write_status;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tracing::Instrument;

use self::lines::{Line, lines};
use super::answers;
use super::bodies::Buffers;
use super::context::Shared;
use super::counters;
use super::errors::Refusal;
use super::idempotency::CallName;
use super::json_lines::JSON_LINES;
use super::shares::{self, Buffer, Client};
use crate::app::errors::AppError;
use crate::app::idempotency::Answered;
use crate::app::{ReadsFor, requests};
use crate::tasks;

/// Lines that are taken in at once: two groups of the writer, so that one waits while the other is written.
const AT_ONCE_MAX: usize = 512;

/// What short lines that are taken in at once hold at most.
const BYTES_MAX: usize = 1 << 20;

/// An answer is sent on once it has reached this length, or nothing more is ready.
const CHUNK_BYTES: usize = 16 << 10;

/// Whose lines are taken in, and how the call is named.
#[derive(Clone)]
pub(super) struct Bulk {
    pub(super) context: Shared,
    pub(super) account: AccountKey,
    /// The name in `X-Request-Id`.
    pub(super) call: CallId,
    pub(super) name: CallName,
}

impl Bulk {
    /// 200 with a line for each line of the body that is not blank. Where the body breaks off, so does the answer.
    ///
    /// Lines go on being taken in while the client reads no answers, as long as there is memory for these.
    ///
    /// # Errors
    ///
    /// [`Refusal::TooManyCalls`] where the account has as many of these calls under way as it may.
    pub(super) fn answer(self, body: Body, buffers: Buffers) -> Result<Response, Refusal> {
        let Some(permit) = self.context.shares.begin_bulk(Client::Account(self.account)) else {
            counters::count_over_share("bulk");
            return Err(Refusal::TooManyCalls);
        };
        let limit = self.context.services.config.limits.request_body_bytes;
        let (answers, ready) = mpsc::unbounded_channel();
        let work = async move {
            let lines = lines(body, buffers, limit);
            tokio::select! {
                () = self.run(lines, &answers) => {}
                () = answers.closed() => {}
            }
            drop(permit);
        };
        tasks::spawn(ReadsFor::current().scope(work.in_current_span()));
        let chunks = stream::unfold(ready, next_chunk);
        Ok(answers::typed(StatusCode::OK, JSON_LINES, Body::from_stream(chunks)))
    }

    async fn run(
        &self,
        lines: impl Stream<Item = Result<Line, Refusal>>,
        answers: &UnboundedSender<Result<Bytes, Refusal>>,
    ) {
        let mut lines = pin!(lines.fuse());
        let mut under_way = FuturesOrdered::new();
        let mut bytes_under_way = 0;
        let mut end = None;
        let mut chunk = Vec::new();
        loop {
            let has_room = under_way.len() < AT_ONCE_MAX && bytes_under_way < BYTES_MAX && end.is_none();
            if under_way.is_empty() && end.is_some() {
                break;
            }
            tokio::select! {
                biased;
                Some((bytes, answer)) = under_way.next(), if !under_way.is_empty() => {
                    bytes_under_way -= bytes;
                    chunk.extend(answer);
                }
                line = lines.next(), if has_room => match line {
                    Some(Ok(line)) => {
                        let bytes = line.content.as_ref().map_or(0, Bytes::len);
                        bytes_under_way += bytes;
                        under_way.push_back(self.take_in(line).map(move |answer| (bytes, answer)));
                    }
                    Some(Err(broken)) => end = Some(Err(broken)),
                    None => end = Some(Ok(())),
                },
            }
            // Whatever else is ready goes with it.
            while chunk.len() < CHUNK_BYTES
                && let Some(Some((bytes, answer))) = under_way.next().now_or_never()
            {
                bytes_under_way -= bytes;
                chunk.extend(answer);
            }
            if !chunk.is_empty() && answers.send(Ok(self.hold(std::mem::take(&mut chunk)).await)).is_err() {
                return;
            }
        }
        if let Some(Err(broken)) = end {
            _ = answers.send(Err(broken));
        }
    }

    /// Takes a line in; its answer. A line waits where its account may create no more in this second.
    async fn take_in(&self, Line { number, content }: Line) -> Vec<u8> {
        let answered = match content {
            Ok(content) => self.create(number, content).await.map_err(Refusal::from),
            Err(refusal) => Err(refusal),
        };
        let mut out = Vec::with_capacity(192);
        match answered {
            Ok(Answered::New(request)) => write_created(number, &request, &mut out),
            Ok(Answered::Repeat(record)) => write_repeated(number, &record, &mut out),
            Err(refusal) => write_refused(number, &refusal.body(self.call), &mut out),
        }
        out
    }

    async fn create(&self, number: u64, content: Bytes) -> Result<Answered<RequestSummary>, AppError> {
        let services = &self.context.services;
        let name = self.name.of_line(number);
        loop {
            let call = name.repeatable(write_status);
            match requests::create(services, self.account, content.clone(), Ok, call).await {
                Err(AppError::QuotaExceeded(QuotaExceeded {
                    quota: Quota::RequestsPerSecond,
                    retry_after_ms,
                    ..
                })) => services.clock.sleep_until(services.clock.now() + retry_after_ms).await,
                answered => return answered,
            }
        }
    }

    /// The chunk with memory of the account's share for responses, once there is some.
    async fn hold(&self, chunk: Vec<u8>) -> Bytes {
        let client = Client::Account(self.account);
        match self.context.shares.memory(Buffer::Responses, client, chunk.len()).await {
            Some(memory) => shares::hold(chunk.into(), Arc::new(memory)),
            None => chunk.into(),
        }
    }
}

async fn next_chunk(
    mut ready: UnboundedReceiver<Result<Bytes, Refusal>>,
) -> Option<(Result<Bytes, BrokenOff>, UnboundedReceiver<Result<Bytes, Refusal>>)> {
    let chunk = ready.recv().await?;
    Some((chunk.map_err(|_| BrokenOff), ready))
}

/// The body broke off.
#[derive(Debug, thiserror::Error)]
#[error("the body broke off before its end")]
struct BrokenOff;
