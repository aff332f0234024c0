//! Live pages: a request for a page as `text/event-stream` gets the page again whenever it has changed. Each look is a separate call, so
//! signed-out users see no more changes.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::{Stream, StreamExt, stream};
use http_body_util::{BodyExt, Limited};
use overnight_app::{ReadsFor, sessions};
use overnight_domain::ids::UserId;
use sha2::{Digest, Sha256};
use tokio::sync::{Semaphore, SemaphorePermit};
use tracing::{Instrument, Span};

use super::cookies::Cookie;
use super::forms;
use super::replies::IsFollowed;
use overnight_http::answers;
use overnight_http::context::Shared;

/// The minimum interval of looks at a page, in milliseconds, and as a multiple of a look's duration.
const EVERY_MS: i64 = 1_000;
const PAUSE_TIMES: i64 = 20;

/// Browsers with live pages; others must reload.
const WATCHERS_MAX: usize = 256;

/// Browsers of one user with live pages.
const WATCHERS_OF_EACH_MAX: usize = 16;

/// After this many looks without a change a comment keeps the connection alive.
const QUIET_LOOKS_MAX: u32 = 15;

/// After this many looks a browser reconnects, which a proxy may need.
const LOOKS_MAX: u32 = 1_800;

/// The longest live page.
const PAGE_BYTES_MAX: usize = 4 << 20;

static WATCHERS: Semaphore = Semaphore::const_new(WATCHERS_MAX);

/// Marks a call that a page makes by itself, with the token of its forms, which is the same for all looks of a browser.
#[derive(Debug, Clone)]
pub(super) struct Look(pub(super) String);

/// Handles a call; a live page is then sent again whenever it has changed. A browser without a permitted page is told not to reconnect.
pub(super) async fn watch(State(context): State<Shared>, mut request: Request, next: Next) -> Response {
    let wants = request.headers().get(header::ACCEPT).is_some_and(|accept| accept == "text/event-stream");
    if !wants || request.method() != Method::GET {
        return next.run(request).await;
    }
    let forms = context.services.ids.random();
    request.extensions_mut().insert(Look(forms::token(&forms)));
    let (head, _) = request.into_parts();
    let mut watcher = Watcher {
        context,
        head,
        next,
        sent: [0; 32],
        quiet: 0,
        looks: 0,
        pause_ms: 0,
        span: Span::current(),
        reads: ReadsFor::current(),
    };
    let Some(page) = watcher.look().await else { return empty(StatusCode::NO_CONTENT) };
    let first = stream::once(std::future::ready(event(&page)));
    if watcher.looks == LOOKS_MAX {
        return sending(first);
    }
    let Some(user) = watcher.user().await else { return empty(StatusCode::NO_CONTENT) };
    let Some(permit) = Permit::take(user) else { return empty(StatusCode::SERVICE_UNAVAILABLE) };
    watcher.sent = Sha256::digest(&page).into();
    sending(first.chain(stream::unfold((watcher, permit), |(watcher, permit)| async move {
        let (event, watcher) = watcher.next_event().await?;
        Some((event, (watcher, permit)))
    })))
}

fn sending(events: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    let content_type = HeaderValue::from_static("text/event-stream");
    let body = Body::from_stream(events.map(Ok::<_, Infallible>));
    let mut response = answers::typed(StatusCode::OK, content_type, body);
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// A slot of a live page, limited in total and per user across sessions.
struct Permit {
    whose: UserId,
    _permit: SemaphorePermit<'static>,
}

static OF_EACH: Mutex<BTreeMap<UserId, usize>> = Mutex::new(BTreeMap::new());

impl Permit {
    fn take(whose: UserId) -> Option<Self> {
        let permit = WATCHERS.try_acquire().ok()?;
        let mut of_each = OF_EACH.lock().unwrap_or_else(PoisonError::into_inner);
        let count = of_each.entry(whose).or_default();
        if *count == WATCHERS_OF_EACH_MAX {
            return None;
        }
        *count += 1;
        Some(Self { whose, _permit: permit })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut of_each = OF_EACH.lock().unwrap_or_else(PoisonError::into_inner);
        match of_each.get_mut(&self.whose) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(of_each.remove(&self.whose)),
        }
    }
}

struct Watcher {
    context: Shared,
    head: Parts,
    next: Next,
    /// The SHA-256 of the page that the browser shows.
    sent: [u8; 32],
    quiet: u32,
    looks: u32,
    pause_ms: i64,
    /// The span of the call, which is answered before its looks end.
    span: Span,
    reads: ReadsFor,
}

impl Watcher {
    /// The next event; `None` once the page no longer changes.
    async fn next_event(mut self) -> Option<(Bytes, Self)> {
        loop {
            pause(self.pause_ms).await;
            // A stopping service does not wait for live pages.
            if self.looks == LOOKS_MAX || self.context.services.signals.is_stopping() {
                return None;
            }
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

    /// The user, while signed in.
    async fn user(&self) -> Option<UserId> {
        let services = &self.context.services;
        let origin = services.config().console_origin().ok()?;
        let token = Cookie::session(&origin).read(&self.head.headers)?;
        Some(sessions::find(services, token, false).await.ok()??.user.id)
    }

    /// The current page, if it is live. The longer it takes, the longer the next pause.
    async fn look(&mut self) -> Option<Bytes> {
        let clock = &self.context.services.clock;
        let began_at = clock.now();
        let request = Request::from_parts(self.head.clone(), Body::empty());
        let look = self.next.clone().run(request).instrument(self.span.clone());
        let answer = self.reads.scope(look).await;
        // A page that no longer changes is sent once more, and then not followed.
        let is_followed = answer.extensions().get::<IsFollowed>()?.0;
        self.looks = if is_followed { self.looks + 1 } else { LOOKS_MAX };
        let page = Limited::new(answer.into_body(), PAGE_BYTES_MAX).collect().await.ok()?;
        self.pause_ms = EVERY_MS.max((clock.now() - began_at).saturating_mul(PAUSE_TIMES));
        Some(page.to_bytes())
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a look at a page is no work of the service, and no test waits for it"
)]
async fn pause(milliseconds: i64) {
    tokio::time::sleep(Duration::from_millis(milliseconds.unsigned_abs())).await;
}

/// A page as one event, with a data line for each of its lines.
fn event(page: &[u8]) -> Bytes {
    let mut event = Vec::with_capacity(page.len() + 1_024);
    for line in page.split(|byte| *byte == b'\n') {
        event.extend_from_slice(b"data: ");
        event.extend(line.iter().filter(|byte| **byte != b'\r'));
        event.push(b'\n');
    }
    event.push(b'\n');
    event.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_arrives_as_it_is() {
        assert_eq!(event(b"a\n  b\r\n\nc"), "data: a\ndata:   b\ndata: \ndata: c\n\n");
    }

    #[test]
    fn one_user_leaves_permits_for_others() {
        let (one, other) = (UserId::from_bits(1), UserId::from_bits(2));
        let mut permits: Vec<_> =
            (0..WATCHERS_OF_EACH_MAX).map(|_| Permit::take(one).expect("a permit")).collect();
        assert!(Permit::take(one).is_none());
        assert!(Permit::take(other).is_some());
        permits.pop();
        assert!(Permit::take(one).is_some());
    }
}
