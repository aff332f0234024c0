//! Streams of events that end with the end of a request.

use std::convert::Infallible;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use overnight_app::ReadsFor;
use overnight_base::clock::SharedClock;
use overnight_domain::ids::RequestId;
use overnight_domain::records::RequestRecord;
use tracing::Instrument;

use super::answers;
use super::errors::Refusal;
use super::waiting::Waiting;

const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream; charset=utf-8");

/// The interval of keep-alives until the request ends.
const KEEP_ALIVE_MS: i64 = 15_000;

/// The end of a stream: from the record of the ended request, or from a refusal to wait longer.
pub(super) struct Closing<E, R> {
    pub(super) write_end: E,
    pub(super) write_refusal: R,
}

/// 200 with `opening` immediately, `keep_alive` now and then, and finally the `closing`.
pub(super) fn answer<E, R>(
    waiting: Waiting,
    id: RequestId,
    opening: Bytes,
    keep_alive: &'static [u8],
    closing: Closing<E, R>,
) -> Response
where
    E: FnOnce(&RequestRecord, &mut Vec<u8>) + Send + 'static,
    R: FnOnce(&Refusal, &mut Vec<u8>) + Send + 'static,
{
    let clock = waiting.clock();
    let Closing { write_end, write_refusal } = closing;
    let last = async move {
        let ended = async { Ok(waiting.ended(id).await?.into_bytes(write_end).await?) };
        ended.await.unwrap_or_else(|refusal: Refusal| {
            let mut out = Vec::new();
            write_refusal(&refusal, &mut out);
            out.into()
        })
    };
    let last = ReadsFor::current().scope(last).in_current_span();
    let events = Events { last: last.boxed(), clock, keep_alive };
    let first = stream::iter((!opening.is_empty()).then_some(opening));
    let rest = stream::unfold(Some(events), |events| async move { Some(events?.next().await) });
    let chunks = first.chain(rest).map(Ok::<_, Infallible>);
    answers::typed(StatusCode::OK, EVENTS, Body::from_stream(chunks))
}

struct Events {
    last: BoxFuture<'static, Bytes>,
    clock: SharedClock,
    keep_alive: &'static [u8],
}

impl Events {
    /// The next chunk; the last has no successor.
    async fn next(mut self) -> (Bytes, Option<Self>) {
        tokio::select! {
            biased;
            last = &mut self.last => (last, None),
            () = self.clock.sleep_until(self.clock.now() + KEEP_ALIVE_MS) => {
                (Bytes::from_static(self.keep_alive), Some(self))
            }
        }
    }
}
