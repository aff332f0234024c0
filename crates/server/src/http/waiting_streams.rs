//! Streams of events whose last ones tell of the end of a request.

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use overnight_domain::ids::RequestId;
use tracing::Instrument;

use super::answers;
use super::errors::Refusal;
use super::waiting::{EndedRequest, Waiting};
use crate::app::ReadsFor;
use crate::clock::SharedClock;

const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream; charset=utf-8");

/// While a request has not ended, its client hears of the service so often.
const KEEP_ALIVE_MS: i64 = 15_000;

/// What becomes of the request, or of the wait for it.
type Ended = Result<EndedRequest, Refusal>;

/// 200 with `opening` at once, `keep_alive` now and then, and once the request has ended what `close` says of it.
pub(super) fn answer(
    waiting: Waiting,
    id: RequestId,
    opening: Vec<u8>,
    keep_alive: &'static [u8],
    close: impl FnOnce(Result<&EndedRequest, Refusal>) -> Vec<u8> + Send + 'static,
) -> Response {
    let clock = waiting.clock();
    let ended = ReadsFor::current().scope(async move { waiting.ended(id).await }).in_current_span();
    let state = Events { ended: ended.boxed(), close, clock, keep_alive };
    let first =
        stream::iter((!opening.is_empty()).then(|| Ok::<_, std::convert::Infallible>(opening.into())));
    let rest = stream::unfold(Some(state), |state| async move {
        let (bytes, state) = state?.next().await;
        Some((Ok(bytes), state))
    });
    answers::typed(StatusCode::OK, EVENTS, Body::from_stream(first.chain(rest)))
}

struct Events<C> {
    ended: BoxFuture<'static, Ended>,
    close: C,
    clock: SharedClock,
    keep_alive: &'static [u8],
}

impl<C: FnOnce(Result<&EndedRequest, Refusal>) -> Vec<u8>> Events<C> {
    /// What is sent next; the last has nothing after it.
    async fn next(mut self) -> (Bytes, Option<Self>) {
        let ended = tokio::select! {
            biased;
            ended = &mut self.ended => ended,
            () = self.clock.sleep_until(self.clock.now() + KEEP_ALIVE_MS) => {
                return (Bytes::from_static(self.keep_alive), Some(self));
            }
        };
        let bytes = match ended {
            Ok(ended) => {
                let bytes = (self.close)(Ok(&ended));
                ended.hold(bytes)
            }
            Err(refusal) => (self.close)(Err(refusal)).into(),
        };
        (bytes, None)
    }
}
