//! How a refusal looks on the wire. Handlers return a [`Refusal`]; `calls.rs` writes its envelope, because only there
//! the call has a name. What went wrong on our side is logged there too, once.

use std::fmt::Display;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use overnight_domain::ids::{CallId, RequestId};
use overnight_wire::native::errors::{ErrorBody, ErrorDetail, ErrorEnvelope};
use overnight_wire::native::results::FailureBody;

use crate::app::errors::{AppError, InputFault, InvalidInput};

const INVALID_REQUEST: &str = "invalid_request_error";
const AUTHENTICATION: &str = "authentication_error";
const BILLING: &str = "billing_error";
const RATE_LIMIT: &str = "rate_limit_error";
const SERVER: &str = "server_error";

/// Nobody waits for longer than this before a call is repeated.
const RETRY_AFTER_MAX_MS: i64 = 60_000;

/// After so many seconds it is worth trying again.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("1");

/// Why a call is refused.
#[derive(Debug)]
pub(super) enum Refusal {
    /// By its use case.
    App(AppError),
    /// The token of the metrics was not shown.
    NoMetricsToken,
    /// Nothing is served at this path.
    NoSuchPath,
    /// Something is served at this path, but not for this method.
    MethodNotAllowed,
    /// The body is longer than this many bytes.
    TooLarge(usize),
    /// The body is none of the types taken here.
    UnsupportedMediaType(&'static str),
    /// The body took too long to come.
    TimedOut,
    /// The account, or the address without one, has as many calls under way as it may.
    TooManyCalls,
    /// The network brought too many API keys that open no account, and waits for so many milliseconds.
    TooManyWrongKeys(i64),
    /// The account has as many calls that wait for the ends of requests as it may. Nothing was created.
    TooManyWaiting,
    /// The request was accepted and runs on, but this call waits for its end no longer: the service stops, or another account has
    /// the place of the call.
    StillWaiting {
        /// The request.
        id: RequestId,
        /// Whether the call carries an idempotency key, with which it can be repeated.
        is_repeatable: bool,
    },
    /// The request of this call has failed.
    RequestFailed(FailureBody),
    /// The request of this call was cancelled.
    RequestCancelled(RequestId),
    /// A bug of ours.
    Panicked,
}

/// What a handler returns.
pub(super) type Answer = Result<Response, Refusal>;

impl From<AppError> for Refusal {
    fn from(error: AppError) -> Self {
        Self::App(error)
    }
}

impl Refusal {
    /// What is told of an error that comes when the request was accepted already: nothing that makes a client ask for the same again.
    pub(super) fn once_accepted(error: AppError, id: RequestId, is_repeatable: bool) -> Self {
        match error {
            AppError::Unavailable(_) | AppError::StoreAway { .. } => {
                log(&error, format_args!("the wait for {id}"));
                Self::StillWaiting { id, is_repeatable }
            }
            other => Self::App(other),
        }
    }

    /// The status, the code and the type.
    fn kind(&self) -> (StatusCode, &'static str, &'static str) {
        match self {
            Self::App(AppError::InvalidApiKey) => {
                (StatusCode::UNAUTHORIZED, "invalid_api_key", AUTHENTICATION)
            }
            Self::NoMetricsToken => (StatusCode::UNAUTHORIZED, "invalid_token", AUTHENTICATION),
            Self::App(AppError::PaymentsNotActivated) => {
                (StatusCode::PAYMENT_REQUIRED, "payments_not_activated", BILLING)
            }
            Self::App(AppError::InsufficientCredits { .. }) => {
                (StatusCode::PAYMENT_REQUIRED, "insufficient_credits", BILLING)
            }
            Self::App(AppError::QuotaExceeded(_)) => {
                (StatusCode::TOO_MANY_REQUESTS, "quota_exceeded", RATE_LIMIT)
            }
            Self::NoSuchPath | Self::App(AppError::NotFound(_)) => {
                (StatusCode::NOT_FOUND, "not_found", INVALID_REQUEST)
            }
            Self::App(AppError::Invalid(_)) => {
                (StatusCode::UNPROCESSABLE_ENTITY, "invalid_input", INVALID_REQUEST)
            }
            Self::App(AppError::IdempotencyKeyReused) => {
                (StatusCode::UNPROCESSABLE_ENTITY, "idempotency_key_reused", INVALID_REQUEST)
            }
            Self::App(AppError::AlreadyEnded { .. }) => {
                (StatusCode::CONFLICT, "already_ended", INVALID_REQUEST)
            }
            Self::App(AppError::NotEnded(_)) => (StatusCode::CONFLICT, "not_ended", INVALID_REQUEST),
            Self::App(AppError::Payment(_)) => (StatusCode::BAD_GATEWAY, "payment_failed", BILLING),
            Self::App(AppError::Notice(_)) => (StatusCode::BAD_REQUEST, "invalid_notice", INVALID_REQUEST),
            Self::App(AppError::Unavailable(_) | AppError::StoreAway { .. }) => {
                (StatusCode::SERVICE_UNAVAILABLE, "unavailable", SERVER)
            }
            Self::TooManyCalls => (StatusCode::TOO_MANY_REQUESTS, "too_many_calls", RATE_LIMIT),
            Self::TooManyWrongKeys(_) => (StatusCode::TOO_MANY_REQUESTS, "too_many_wrong_keys", RATE_LIMIT),
            Self::App(AppError::Internal(_)) | Self::Panicked => {
                (StatusCode::INTERNAL_SERVER_ERROR, "internal", SERVER)
            }
            Self::MethodNotAllowed => (StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", INVALID_REQUEST),
            Self::TooLarge(_) => (StatusCode::PAYLOAD_TOO_LARGE, "too_large", INVALID_REQUEST),
            Self::UnsupportedMediaType(_) => {
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", INVALID_REQUEST)
            }
            Self::TimedOut => (StatusCode::REQUEST_TIMEOUT, "request_timeout", INVALID_REQUEST),
            Self::TooManyWaiting => (StatusCode::TOO_MANY_REQUESTS, "too_many_waiting_calls", RATE_LIMIT),
            Self::StillWaiting { .. } => (StatusCode::SERVICE_UNAVAILABLE, "still_waiting", SERVER),
            Self::RequestFailed(failure) => kind_of_failure(failure),
            Self::RequestCancelled(_) => (StatusCode::CONFLICT, "cancelled", INVALID_REQUEST),
        }
    }

    fn message(&self) -> String {
        match self {
            Self::App(error) => error.to_string(),
            Self::NoMetricsToken => {
                "the token of the metrics is required, as Authorization: Bearer".to_owned()
            }
            Self::NoSuchPath => "there is nothing at this path".to_owned(),
            Self::MethodNotAllowed => {
                "this path does not take this method; Allow names those it takes".to_owned()
            }
            Self::TooLarge(limit) => format!("the body must be at most {limit} bytes"),
            Self::UnsupportedMediaType(taken) => (*taken).to_owned(),
            Self::TimedOut => "the body took too long to come".to_owned(),
            Self::TooManyCalls => {
                "too many calls are under way; send the next when one of them has been answered".to_owned()
            }
            Self::TooManyWrongKeys(_) => {
                "too many unknown API keys came from your network: check the key, and send the next call later".to_owned()
            }
            Self::Panicked => "something went wrong here".to_owned(),
            Self::TooManyWaiting => {
                "too many calls wait for the ends of their requests; send the next when one of them has been answered".to_owned()
            }
            Self::StillWaiting { id, is_repeatable } => {
                let advice = if *is_repeatable { "repeat the call with its Idempotency-Key" } else { "read it later" };
                format!("request {id} was accepted and runs on, but this call can wait for it no longer: {advice}")
            }
            Self::RequestFailed(failure) => failure.message.clone(),
            Self::RequestCancelled(id) => format!("request {id} was cancelled"),
        }
    }

    /// Whether the same call would be refused again however often it is repeated, or would ask for the same work twice.
    pub(super) const fn is_final(&self) -> bool {
        match self {
            Self::App(
                AppError::PaymentsNotActivated
                | AppError::InsufficientCredits { .. }
                | AppError::AlreadyEnded { .. }
                | AppError::NotEnded(_)
                | AppError::IdempotencyKeyReused,
            )
            | Self::RequestFailed(_)
            | Self::RequestCancelled(_)
            | Self::StillWaiting { is_repeatable: false, .. } => true,
            Self::App(AppError::QuotaExceeded(exceeded)) => exceeded.retry_after_ms > RETRY_AFTER_MAX_MS,
            _ => false,
        }
    }

    fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        match self {
            Self::App(AppError::InvalidApiKey) | Self::NoMetricsToken => {
                Some((header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")))
            }
            Self::App(AppError::Unavailable(_) | AppError::StoreAway { .. })
            | Self::TooManyCalls
            | Self::TooManyWaiting
            | Self::StillWaiting { .. } => Some((header::RETRY_AFTER, RETRY_AFTER)),
            Self::App(AppError::QuotaExceeded(exceeded)) => {
                Some((header::RETRY_AFTER, whole_seconds(exceeded.retry_after_ms)))
            }
            Self::TooManyWrongKeys(wait_ms) => Some((header::RETRY_AFTER, whole_seconds(*wait_ms))),
            _ => None,
        }
    }

    /// What the one shape of every refusal of this call says.
    pub(super) fn body(&self, call: CallId) -> ErrorBody {
        let (_, code, kind) = self.kind();
        let none = InvalidInput::default();
        let invalid = if let Self::App(AppError::Invalid(invalid)) = self { invalid } else { &none };
        let details: Vec<ErrorDetail> = invalid.details.iter().map(detail).collect();
        let failed_param = if let Self::RequestFailed(failure) = self { failure.param.clone() } else { None };
        ErrorBody {
            message: self.message(),
            kind: kind.to_owned(),
            code: code.to_owned(),
            param: details.first().and_then(|detail| detail.param.clone()).or(failed_param),
            details,
            details_total: invalid.total.map(|total| total as u64),
            request_id: call.to_string(),
        }
    }
}

/// How the failure of a request is told: by whose fault it is.
fn kind_of_failure(failure: &FailureBody) -> (StatusCode, &'static str, &'static str) {
    match failure.code.as_str() {
        "engine_rejected" => (StatusCode::BAD_REQUEST, "engine_rejected", INVALID_REQUEST),
        "expired" => (StatusCode::GATEWAY_TIMEOUT, "expired", SERVER),
        "engine_unavailable" => (StatusCode::SERVICE_UNAVAILABLE, "engine_unavailable", SERVER),
        _ => (StatusCode::BAD_GATEWAY, "engine_invalid_response", SERVER),
    }
}

/// A time in milliseconds in whole seconds, and no less.
fn whole_seconds(milliseconds: i64) -> HeaderValue {
    HeaderValue::from(milliseconds.unsigned_abs().div_ceil(1_000))
}

fn detail(fault: &InputFault) -> ErrorDetail {
    ErrorDetail {
        param: Some(fault.param.clone()).filter(|param| !param.is_empty()),
        id: fault.id.clone(),
        message: fault.message.clone(),
        code: fault.code.to_owned(),
    }
}

impl IntoResponse for Refusal {
    /// The status alone; the refusal travels along until [`write`] gives it its envelope.
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.kind().0;
        response.extensions_mut().insert(Arc::new(self));
        response
    }
}

/// Logs what the store said, of which a client is told nothing.
pub(super) fn log(error: &AppError, call: impl Display) {
    match error {
        AppError::Internal(_) => tracing::error!(error = error.in_full(), "{call} failed"),
        AppError::StoreAway { .. } => {
            tracing::warn!(error = error.in_full(), "{call} was refused: store unavailable");
        }
        _ => {}
    }
}

/// Writes how a dialect tells of a refusal. The response has the status and the headers of the native dialect, which it may change.
pub(super) type WriteRefusal = fn(&Refusal, CallId, &mut Response);

/// Gives a refused call's answer the shape of its dialect, and logs what was our fault.
pub(super) fn write(response: &mut Response, call: CallId, write_refusal: WriteRefusal) {
    let Some(refusal) = response.extensions_mut().remove::<Arc<Refusal>>() else { return };
    if let Refusal::App(error) = &*refusal {
        log(error, format_args!("call {call}"));
    }
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.remove(header::CONTENT_LENGTH);
    if let Some((name, value)) = refusal.header() {
        headers.insert(name, value);
    }
    write_refusal(&refusal, call, response);
}

/// The envelope of the native dialect.
pub(super) fn write_envelope(refusal: &Refusal, call: CallId, response: &mut Response) {
    let envelope = serde_json::to_vec(&ErrorEnvelope { error: refusal.body(call) }).unwrap_or_default();
    *response.body_mut() = Body::from(envelope);
}
