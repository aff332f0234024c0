//! How a refusal looks on the wire. Handlers return a [`Refusal`]; `calls.rs` writes its envelope, because only there
//! the call has a name. What went wrong on our side is logged there too, once.

use std::fmt::Display;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use overnight_domain::ids::CallId;
use overnight_wire::native::errors::{ErrorBody, ErrorDetail, ErrorEnvelope};

use crate::app::errors::{AppError, InputFault, InvalidInput};

const INVALID_REQUEST: &str = "invalid_request_error";
const AUTHENTICATION: &str = "authentication_error";
const BILLING: &str = "billing_error";
const RATE_LIMIT: &str = "rate_limit_error";
const SERVER: &str = "server_error";

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
        }
    }

    fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        match self {
            Self::App(AppError::InvalidApiKey) | Self::NoMetricsToken => {
                Some((header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")))
            }
            Self::App(AppError::Unavailable(_) | AppError::StoreAway { .. }) | Self::TooManyCalls => {
                Some((header::RETRY_AFTER, RETRY_AFTER))
            }
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
        ErrorBody {
            message: self.message(),
            kind: kind.to_owned(),
            code: code.to_owned(),
            param: details.first().and_then(|detail| detail.param.clone()),
            details,
            details_total: invalid.total.map(|total| total as u64),
            request_id: call.to_string(),
        }
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

/// Gives a refused call's answer its envelope, and logs what was our fault.
pub(super) fn write(response: &mut Response, call: CallId) {
    let Some(refusal) = response.extensions_mut().remove::<Arc<Refusal>>() else { return };
    if let Refusal::App(error) = &*refusal {
        log(error, format_args!("call {call}"));
    }
    let envelope = serde_json::to_vec(&ErrorEnvelope { error: refusal.body(call) }).unwrap_or_default();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.remove(header::CONTENT_LENGTH);
    if let Some((name, value)) = refusal.header() {
        headers.insert(name, value);
    }
    *response.body_mut() = Body::from(envelope);
}
