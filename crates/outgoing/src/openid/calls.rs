//! Calls to the provider, with time and size limits.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http_body_util::Full;
use hyper::StatusCode;
use hyper::header::{HeaderValue, USER_AGENT};
use openidconnect::{AsyncHttpClient, HttpRequest, HttpResponse};
use overnight_base::clock::SharedClock;
use overnight_config::OutgoingConfig;
use thiserror::Error;

use super::OpenIdUnusable;
use crate::transport::{AGENT, Transport, Unread, in_words, read_whole};

/// A person waits for each call.
const TIMEOUT_MS: i64 = 10_000;

const CONNECT_TIMEOUT_MS: i64 = 5_000;

const ANSWER_BYTES_MAX: usize = 1 << 20;

#[derive(Debug, Error)]
pub(super) enum CallFailed {
    /// No answer, not in time, or only a temporary failure.
    #[error("{0}")]
    Away(String),
    /// The answer exceeds its limit.
    #[error("it is longer than {} MiB", ANSWER_BYTES_MAX >> 20)]
    TooLong,
}

/// Connections to the provider. If its issuer is https, they use https only.
pub(super) struct Calls {
    transport: Transport,
    clock: SharedClock,
}

impl Calls {
    pub(super) fn new(
        issuer: &str,
        outgoing: &OutgoingConfig,
        clock: &SharedClock,
    ) -> Result<Self, OpenIdUnusable> {
        let scheme = if issuer.starts_with("http:") { "http" } else { "https" };
        let transport = Transport::open(scheme, outgoing, clock.clone(), CONNECT_TIMEOUT_MS)
            .map_err(|error| OpenIdUnusable::Tls(error.to_string()))?;
        Ok(Self { transport, clock: clock.clone() })
    }

    async fn exchange(&self, request: HttpRequest) -> Result<HttpResponse, CallFailed> {
        let mut request = request.map(|body| Full::new(body.into()));
        request.headers_mut().insert(USER_AGENT, HeaderValue::from_static(AGENT));
        let answer =
            self.transport.send(request).await.map_err(|error| CallFailed::Away(in_words(&error)))?;
        let (head, body) = answer.into_parts();
        if head.status.is_server_error() || head.status == StatusCode::TOO_MANY_REQUESTS {
            return Err(CallFailed::Away(format!("it answers {}", head.status)));
        }
        let body = read_whole(body, ANSWER_BYTES_MAX).await.map_err(|unread| match unread {
            Unread::TooLong => CallFailed::TooLong,
            Unread::Broken(error) => CallFailed::Away(in_words(&error)),
        })?;
        Ok(HttpResponse::from_parts(head, body.to_vec()))
    }
}

impl<'c> AsyncHttpClient<'c> for Calls {
    type Error = CallFailed;
    type Future = BoxFuture<'c, Result<HttpResponse, CallFailed>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        async move {
            tokio::select! {
                answered = self.exchange(request) => answered,
                () = self.clock.sleep_until(self.clock.now().saturating_add(TIMEOUT_MS)) => {
                    Err(CallFailed::Away(format!("no answer within {} s", TIMEOUT_MS / 1_000)))
                }
            }
        }
        .boxed()
    }
}
