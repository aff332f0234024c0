//! One try, from the URL to the end of the answer.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CONTENT_TYPE, HOST, USER_AGENT};
use hyper::{Method, Request};
use overnight_base::clock::SharedClock;
use overnight_domain::ids::EventId;
use overnight_domain::webhooks::signature::{ID_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER};
use overnight_domain::webhooks::{Answer, TIMEOUT_MS};

use super::connect::Dialer;
use super::exchange::{self, Answered};
use super::failure::Failure;
use super::policy::Policy;
use super::resolve::{Hold, Resolve};
use super::target::Target;
use super::tls::{self, Tls};
use crate::transport::{AGENT, retry_after};

#[derive(Clone)]
pub struct Message {
    /// As the tenant wrote it.
    pub url: String,
    pub id: EventId,
    /// When this try is made, in Unix seconds.
    pub timestamp_s: i64,
    /// The signatures of id, time and body.
    pub signature: String,
    pub body: Bytes,
    pub traceparent: Option<String>,
    /// Held by every lookup that the try begins, until that ends.
    pub hold: Hold,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tried {
    /// Decided by the status as soon as it arrives, whatever happens to the rest.
    pub answer: Answer,
    /// The answer's `Retry-After`, in milliseconds.
    pub retry_after_ms: Option<i64>,
    /// Why there is no status.
    pub failure: Option<Failure>,
    /// In milliseconds; not negative.
    pub duration_ms: i64,
}

pub struct Sender {
    policy: Policy,
    resolver: Arc<dyn Resolve>,
    clock: SharedClock,
    tls: Tls,
}

impl Sender {
    /// Follows the policy, and trusts this machine's certificate authorities.
    pub fn new(policy: Policy, resolver: Arc<dyn Resolve>, clock: SharedClock) -> Self {
        Self { policy, resolver, clock, tls: Tls::default() }
    }

    /// Also trusts the certificates in these PEM files.
    #[must_use]
    pub fn trusting(self, ca_files: Vec<PathBuf>) -> Self {
        Self { tls: Tls::trusting(ca_files), ..self }
    }

    /// Makes one try over its own connection, within [`TIMEOUT_MS`]. If dropped, the connection is closed.
    pub async fn send(&self, message: Message) -> Tried {
        let started_at = self.clock.now();
        let mut too_late = self.clock.sleep_until(started_at.saturating_add(TIMEOUT_MS));
        let head = tokio::select! {
            biased;
            // Many tries wait: the states of a connection are boxed.
            head = Box::pin(self.call(message)) => head,
            () = &mut too_late => Err(Failure::TimedOut),
        };
        let (answer, retry_after_ms, failure) = match head {
            Err(failure) => (Answer::None, None, Some(failure)),
            Ok(answered) => {
                let status = answered.status;
                let retry_after_ms = retry_after::read(&answered.headers, self.clock.now());
                tokio::select! {
                    biased;
                    () = answered.drain() => {}
                    () = &mut too_late => {}
                }
                (Answer::Status(status), retry_after_ms, None)
            }
        };
        let duration_ms = self.clock.now().saturating_sub(started_at).max(0);
        Tried { answer, retry_after_ms, failure, duration_ms }
    }

    /// The answer, as soon as its head has arrived.
    async fn call(&self, message: Message) -> Result<Answered, Failure> {
        let target = Target::read(&message.url, self.policy.allows_http()).ok_or(Failure::Url)?;
        let hold = Arc::clone(&message.hold);
        let request = request(&target, message).map_err(|error| Failure::Url.because(&error))?;
        let dialer = Dialer {
            policy: &self.policy,
            resolver: self.resolver.as_ref(),
            clock: self.clock.as_ref(),
            hold,
        };
        let stream = dialer.connect(&target).await?;
        match target.certified {
            None => exchange::ask(stream, request).await,
            Some(name) => {
                let stream = self.tls.connect(stream, name).await?;
                match tls::is_http2(&stream) {
                    false => exchange::ask(stream, request).await,
                    true => exchange::ask_over_http2(stream, request).await,
                }
            }
        }
    }
}

fn request(target: &Target, message: Message) -> hyper::http::Result<Request<Full<Bytes>>> {
    let mut request = Request::builder();
    if let Some(traceparent) = message.traceparent {
        request = request.header("traceparent", traceparent);
    }
    request
        .method(Method::POST)
        .uri(target.path.clone())
        .header(HOST, target.authority.clone())
        .header(CONTENT_TYPE, "application/json")
        .header(USER_AGENT, AGENT)
        .header(ID_HEADER, message.id.to_string())
        .header(TIMESTAMP_HEADER, message.timestamp_s)
        .header(SIGNATURE_HEADER, message.signature)
        .body(Full::new(message.body))
}
