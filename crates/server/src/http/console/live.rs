//! Pages that follow what happens: whoever asks for a page as `text/event-stream` is sent it whenever it has changed. Each look
//! is a call of its own, so whoever is signed out meanwhile sees nothing more.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::stream;
use http_body_util::{BodyExt, Limited};
use sha2::{Digest, Sha256};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::http::answers;
use crate::http::context::Shared;

/// Between two looks at a page.
const EVERY: Duration = Duration::from_secs(1);

/// Browsers that look at once; the others reload by hand.
const WATCHERS_MAX: usize = 256;

/// A browser that is sent nothing for so many looks is shown that somebody is there.
const QUIET_LOOKS_MAX: u32 = 15;

/// After so many looks a browser asks anew, which a proxy may need.
const LOOKS_MAX: u32 = 1_800;

/// The longest page that is sent so.
const PAGE_BYTES_MAX: usize = 4 << 20;

static WATCHERS: Semaphore = Semaphore::const_new(WATCHERS_MAX);

/// Marks a call that a page makes by itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct IsLook;

/// Carries a call through, or sends what it answers again and again.
pub(super) async fn watch(State(context): State<Shared>, request: Request, next: Next) -> Response {
    let wants = request.headers().get(header::ACCEPT).is_some_and(|accept| accept == "text/event-stream");
    if !wants || request.method() != Method::GET {
        return next.run(request).await;
    }
    let Ok(place) = WATCHERS.try_acquire() else {
        return answers::typed(
            StatusCode::SERVICE_UNAVAILABLE,
            HeaderValue::from_static("text/plain; charset=utf-8"),
            Body::from("too many browsers watch; reload by hand"),
        );
    };
    let (mut parts, _) = request.into_parts();
    parts.extensions.insert(IsLook);
    let watcher = Watcher { context, head: parts, next, sent: [0; 32], quiet: 0, looks: 0, _place: place };
    let events = stream::unfold(watcher, Watcher::next_event);
    let events = futures_util::StreamExt::map(events, Ok::<_, std::convert::Infallible>);
    let content_type = HeaderValue::from_static("text/event-stream");
    let mut response = answers::typed(StatusCode::OK, content_type, Body::from_stream(events));
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

struct Watcher {
    context: Shared,
    head: axum::http::request::Parts,
    next: Next,
    /// The SHA-256 of what the browser shows.
    sent: [u8; 32],
    quiet: u32,
    looks: u32,
    _place: SemaphorePermit<'static>,
}

impl Watcher {
    /// What the browser is sent next; `None` once there is nothing to follow any more.
    async fn next_event(mut self) -> Option<(Bytes, Self)> {
        loop {
            if self.looks > 0 {
                pause().await;
            }
            // A service that stops does not wait for those who look.
            if self.looks == LOOKS_MAX || self.context.services.signals.is_stopping() {
                return None;
            }
            self.looks += 1;
            let page = self.look().await?;
            let digest: [u8; 32] = Sha256::digest(&page).into();
            if digest != self.sent {
                (self.sent, self.quiet) = (digest, 0);
                return Some((event(&page), self));
            }
            self.quiet += 1;
            if self.quiet == QUIET_LOOKS_MAX {
                self.quiet = 0;
                return Some((Bytes::from_static(b":\n\n"), self));
            }
        }
    }

    async fn look(&self) -> Option<Bytes> {
        let request = Request::from_parts(self.head.clone(), Body::empty());
        let answer = self.next.clone().run(request).await;
        if answer.status() != StatusCode::OK {
            return None;
        }
        let page = Limited::new(answer.into_body(), PAGE_BYTES_MAX).collect().await.ok()?;
        Some(page.to_bytes())
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a look at a page is no work of the service, and no test waits for it"
)]
async fn pause() {
    tokio::time::sleep(EVERY).await;
}

/// A page as one event, each of its lines as one of the event's.
fn event(page: &[u8]) -> Bytes {
    let mut event = Vec::with_capacity(page.len() + 1_024);
    for line in page.split(|byte| *byte == b'\n') {
        event.extend_from_slice(b"data:");
        event.extend(line.iter().filter(|byte| **byte != b'\r'));
        event.push(b'\n');
    }
    event.push(b'\n');
    event.into()
}
