//! One call: verify, parse, forward, print, answer.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};
use hyper::header::{ALLOW, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use overnight_domain::webhooks::signature::{
    Headers, ID_HEADER, NotSigned, SIGNATURE_HEADER, SigningSecret, TIMESTAMP_HEADER, verify,
};
use tokio::sync::mpsc;

use super::events::{Received, Told};
use super::forwarding::Target;
use super::seen::Seen;
use crate::errors::CliError;
use crate::output::Output;
use crate::times;

const BODY_BYTES_MAX: usize = 1 << 20;
const BODY_TIMEOUT_MS: i64 = 30_000;

pub(super) struct Receiver {
    secrets: Vec<SigningSecret>,
    target: Option<Target>,
    output: Output,
    seen: Mutex<Seen>,
    /// Reports that standard output cannot be written.
    unprinted: mpsc::Sender<CliError>,
}

#[derive(Debug, Clone, Copy)]
enum Refused {
    Method,
    TooLarge,
    TooSlow,
    Cut,
    NotSigned(NotSigned),
    NoEvent,
}

impl Receiver {
    pub(super) fn new(
        secrets: Vec<SigningSecret>,
        target: Option<Target>,
        output: Output,
        unprinted: mpsc::Sender<CliError>,
    ) -> Self {
        Self { secrets, target, output, seen: Mutex::default(), unprinted }
    }

    pub(super) async fn receive(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        match self.take(request).await {
            Ok(status) => answer(status, String::new()),
            Err(refused) => {
                let message = refused.message();
                self.output.note(&format!("{}  refused: {message}", times::of_day(times::now() / 1_000)));
                let mut response = answer(refused.status(), format!("{message}\n"));
                if matches!(refused, Refused::Method) {
                    response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
                }
                response
            }
        }
    }

    async fn take(&self, request: Request<Incoming>) -> Result<StatusCode, Refused> {
        if request.method() != Method::POST {
            return Err(Refused::Method);
        }
        let (parts, body) = request.into_parts();
        let body = read(body).await?;
        let signed = headers_of(&parts.headers);
        verify(&self.secrets, signed, &body, times::now() / 1_000).map_err(Refused::NotSigned)?;
        let event = Received::read(signed.id, &body).ok_or(Refused::NoEvent)?;
        let again = !self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(signed.id);
        let (answered, forwarded) = self.forward(&parts.headers, &body).await;
        self.print(&Told::new(&event, again, forwarded, answered));
        Ok(answered)
    }

    /// Forwards the call, if requested. Returns the answer for the service, and the server's answer.
    async fn forward(&self, headers: &HeaderMap, body: &Bytes) -> (StatusCode, Option<StatusCode>) {
        let Some(target) = &self.target else { return (StatusCode::OK, None) };
        match target.send(headers, body.clone()).await {
            Ok(status) => (status, Some(status)),
            Err(failed) => {
                self.output.note(&format!("{} did not answer: {}", target.name(), failed.message));
                (failed.status, None)
            }
        }
    }

    fn print(&self, told: &Told<'_>) {
        let line = if self.output.is_json { told.json() } else { told.line(times::now() / 1_000) };
        if let Err(error) = self.output.line(&line) {
            // The first error suffices.
            let _ = self.unprinted.try_send(error);
        }
    }
}

impl Refused {
    fn status(self) -> StatusCode {
        match self {
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::NotSigned(_) => StatusCode::UNAUTHORIZED,
            Self::Cut | Self::NoEvent => StatusCode::BAD_REQUEST,
        }
    }

    fn message(self) -> String {
        match self {
            Self::Method => "webhooks come by POST".to_owned(),
            Self::TooLarge => format!("the body is larger than {BODY_BYTES_MAX} bytes"),
            Self::TooSlow => "the body did not come in time".to_owned(),
            Self::Cut => "the body was cut off".to_owned(),
            Self::NotSigned(NotSigned::Wrong) => {
                format!("{}; is the secret that of the account?", NotSigned::Wrong)
            }
            Self::NotSigned(why) => why.to_string(),
            Self::NoEvent => "it is rightly signed, and no event".to_owned(),
        }
    }
}

async fn read(body: Incoming) -> Result<Bytes, Refused> {
    if body.size_hint().lower() > BODY_BYTES_MAX as u64 {
        return Err(Refused::TooLarge);
    }
    let whole = tokio::select! {
        whole = Limited::new(body, BODY_BYTES_MAX).collect() => whole,
        () = times::pause(BODY_TIMEOUT_MS) => return Err(Refused::TooSlow),
    };
    match whole {
        Ok(whole) => Ok(whole.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Refused::TooLarge),
        Err(_) => Err(Refused::Cut),
    }
}

/// The signed headers. A missing header is empty, which matches no signature.
fn headers_of(headers: &HeaderMap) -> Headers<'_> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    Headers { id: text(ID_HEADER), timestamp: text(TIMESTAMP_HEADER), signature: text(SIGNATURE_HEADER) }
}

fn answer(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response
}
