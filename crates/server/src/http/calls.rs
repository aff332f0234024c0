//! What every call passes on its way in and out: it gets a name, its key is looked at, a panic of ours stays its own,
//! a refusal gets its shape, and it is counted.

use std::panic::AssertUnwindSafe;

use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Version, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use overnight_domain::ids::{AccountId, CallId};
use overnight_domain::scheduler::AccountKey;
use tracing::{Instrument, Span, field};

use super::context::{Context, Shared};
use super::errors::{self, Refusal};
use super::extract::bearer;
use super::metrics::CallTimer;
use crate::app::api_keys;
use crate::app::errors::AppError;

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Under this everything needs a key, whether anything is served there or not.
const API: &str = "/v1";

/// The account whose API key authenticated the call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Caller(pub(super) AccountKey);

impl FromRequestParts<Shared> for Caller {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, Refusal> {
        parts.extensions.get().copied().ok_or(Refusal::App(AppError::InvalidApiKey))
    }
}

/// Carries one call through, in a span that names it in all that is logged on its way. The account stands in it once it is known.
/// `next` is the handler: `native/mod.rs` lists those of the API, each of which names its path, `console/mod.rs` those of the console.
pub(super) async fn handle(State(context): State<Shared>, request: Request, next: Next) -> Response {
    let timer = CallTimer::start(request.method(), request.extensions().get::<MatchedPath>());
    let call: CallId = context.services.ids.next(context.services.clock.now());
    let (method, route) = (timer.method(), timer.route());
    let span = tracing::info_span!("call", method, route, id = %call, account = field::Empty);
    carry(context, call, timer, request, next).instrument(span).await
}

async fn carry(context: Shared, call: CallId, timer: CallTimer, request: Request, next: Next) -> Response {
    let version = request.version();
    let answered = AssertUnwindSafe(admit(&context, request, next)).catch_unwind().await;
    let mut response = answered.unwrap_or_else(|_| {
        tracing::error!("call {call} hit a bug: its handler panicked");
        Refusal::Panicked.into_response()
    });
    if response.status().is_client_error() || response.status().is_server_error() {
        errors::write(&mut response, call);
    }
    if let Ok(name) = HeaderValue::try_from(call.to_string()) {
        response.headers_mut().insert(REQUEST_ID, name);
    }
    if context.services.signals.is_stopping() && version <= Version::HTTP_11 {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    tracing::debug!(status = response.status().as_u16(), "answered call {call}");
    timer.stop(response.status());
    response
}

async fn admit(context: &Context, mut request: Request, next: Next) -> Response {
    if is_api(request.uri().path()) {
        let key = presented_key(request.headers());
        match api_keys::authenticate(&context.services, key).await {
            Ok(opened) => {
                name_account(opened.id);
                request.extensions_mut().insert(Caller(opened.account))
            }
            Err(refused) => return Refusal::from(refused).into_response(),
        };
    }
    next.run(request).await
}

/// Names the account whose call this is in what is logged of it from here on.
pub(super) fn name_account(account: AccountId) {
    Span::current().record("account", field::display(account));
}

fn is_api(path: &str) -> bool {
    path.strip_prefix(API).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// `X-API-Key`, or else what `Authorization: Bearer` carries; empty where there is neither.
fn presented_key(headers: &HeaderMap) -> &[u8] {
    if let Some(key) = headers.get(API_KEY) {
        return key.as_bytes();
    }
    bearer(headers)
}

/// What a path is answered with at which nothing is served.
pub(super) async fn no_such_path(request: Request) -> Refusal {
    let (parts, _) = request.into_parts();
    match super::extract::check_path(&parts) {
        Err(refusal) => refusal,
        Ok(()) => Refusal::NoSuchPath,
    }
}

/// What a method is answered with that its path does not take.
pub(super) async fn method_not_allowed() -> Refusal {
    Refusal::MethodNotAllowed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_under_v1_needs_a_key_and_nothing_else_does() {
        for (path, expected) in [
            ("/v1", true),
            ("/v1/", true),
            ("/v1/nothing", true),
            ("/v11", false),
            ("/docs", false),
            ("*", false),
            ("", false),
        ] {
            assert_eq!(is_api(path), expected, "{path}");
        }
    }

    #[test]
    fn the_api_key_header_wins_over_the_bearer() {
        let mut headers = HeaderMap::new();
        assert_eq!(presented_key(&headers), b"");
        headers.insert(header::AUTHORIZATION, HeaderValue::from_static("bEaReR  token "));
        assert_eq!(presented_key(&headers), b"token");
        headers.insert(API_KEY, HeaderValue::from_static("key"));
        assert_eq!(presented_key(&headers), b"key");
        headers.remove(API_KEY);
        headers.insert(header::AUTHORIZATION, HeaderValue::from_static("Basic token"));
        assert_eq!(presented_key(&headers), b"");
    }
}
