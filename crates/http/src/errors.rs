//! The wire form of errors. Handlers return a [`Refusal`]; `calls.rs` writes its envelope, because only there the call has a name. It also
//! logs internal faults, once.

mod codes;

use std::fmt::Display;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use overnight_domain::api_keys::KeyScope;
use overnight_domain::ids::{CallId, RequestId};
use overnight_wire::native::errors::{ErrorBody, ErrorDetail, ErrorEnvelope};
use overnight_wire::native::results::FailureBody;

pub(super) use self::codes::CODES;
use overnight_app::errors::{AppError, InputFault, InvalidInput};

use self::codes::ErrorCode;

/// The longest wait suggested before a repeat.
const RETRY_AFTER_MAX_MS: i64 = 60_000;

/// The seconds after which a repeat is worthwhile.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("1");

/// Why a call is refused.
#[derive(Debug)]
pub enum Refusal {
    /// By its use case.
    App(AppError),
    /// The metrics token is missing or wrong.
    NoMetricsToken,
    /// The metrics have no token, and were called by a name that another site may have.
    ForeignHost,
    /// The API key lacks this scope, which the call needs.
    InsufficientScope(KeyScope),
    /// The call used plain HTTP at an address that is served by https.
    HttpsRequired,
    NoSuchPath,
    /// The call repeats this header.
    RepeatedHeader(HeaderName),
    /// A call over HTTP/1.1 without `Host`.
    NoHost,
    /// The path exists, but not for this method.
    MethodNotAllowed,
    /// The body is longer than this many bytes.
    TooLarge(usize),
    /// The body has none of the accepted types.
    UnsupportedMediaType(&'static str),
    TimedOut,
    /// The account, or the address without one, has too many calls under way.
    TooManyCalls,
    /// The network sent too many API keys that open no account; it must wait this many milliseconds.
    TooManyWrongKeys(i64),
    /// The account has too many calls that wait for the ends of requests. No request was created.
    TooManyWaiting,
    /// The request was accepted and still runs, but this call stops waiting for it: the service stops, or another account has the call's
    /// place.
    StillWaiting {
        id: RequestId,
        /// Whether the call carries an idempotency key, with which it can be repeated.
        is_repeatable: bool,
    },
    /// The request of this call has failed.
    RequestFailed(FailureBody),
    /// The request of this call was cancelled.
    RequestCancelled(RequestId),
    /// A bug.
    Panicked,
}

pub(super) type Answer = Result<Response, Refusal>;

impl From<AppError> for Refusal {
    fn from(error: AppError) -> Self {
        Self::App(error)
    }
}

impl Refusal {
    /// The form of an error after the request was accepted: it must not make clients send the same request again.
    pub(super) fn once_accepted(error: AppError, id: RequestId, is_repeatable: bool) -> Self {
        match error {
            AppError::Unavailable(_) | AppError::StoreAway { .. } => {
                log(&error, format_args!("the wait for {id}"));
                Self::StillWaiting { id, is_repeatable }
            }
            other => Self::App(other),
        }
    }

    fn code(&self) -> &'static ErrorCode {
        match self {
            Self::App(AppError::InvalidApiKey) => &codes::INVALID_API_KEY,
            Self::NoMetricsToken => &codes::INVALID_TOKEN,
            Self::InsufficientScope(_) => &codes::INSUFFICIENT_SCOPE,
            Self::App(AppError::AccountSuspended) => &codes::ACCOUNT_SUSPENDED,
            Self::HttpsRequired => &codes::HTTPS_REQUIRED,
            Self::RepeatedHeader(_) | Self::NoHost => &codes::INVALID_HEADERS,
            Self::App(AppError::PaymentsNotActivated) => &codes::PAYMENTS_NOT_ACTIVATED,
            Self::App(AppError::InsufficientCredits { .. }) => &codes::INSUFFICIENT_CREDITS,
            Self::App(AppError::QuotaExceeded(_)) => &codes::QUOTA_EXCEEDED,
            Self::App(AppError::TooManyChanges(_)) => &codes::TOO_MANY_CHANGES,
            Self::NoSuchPath | Self::ForeignHost | Self::App(AppError::NotFound(_)) => &codes::NOT_FOUND,
            Self::App(AppError::Invalid(_)) => &codes::INVALID_INPUT,
            Self::App(AppError::IdempotencyKeyReused) => &codes::IDEMPOTENCY_KEY_REUSED,
            Self::App(AppError::AlreadyEnded { .. }) => &codes::ALREADY_ENDED,
            Self::App(AppError::NotEnded(_)) => &codes::NOT_ENDED,
            Self::App(AppError::Payment(_)) => &codes::PAYMENT_FAILED,
            Self::App(AppError::Notice(_)) => &codes::INVALID_NOTICE,
            Self::App(AppError::Unavailable(_) | AppError::StoreAway { .. }) => &codes::UNAVAILABLE,
            Self::TooManyCalls => &codes::TOO_MANY_CALLS,
            Self::TooManyWrongKeys(_) => &codes::TOO_MANY_WRONG_KEYS,
            Self::App(AppError::Internal(_)) | Self::Panicked => &codes::INTERNAL,
            Self::MethodNotAllowed => &codes::METHOD_NOT_ALLOWED,
            Self::TooLarge(_) => &codes::TOO_LARGE,
            Self::UnsupportedMediaType(_) => &codes::UNSUPPORTED_MEDIA_TYPE,
            Self::TimedOut => &codes::REQUEST_TIMEOUT,
            Self::TooManyWaiting => &codes::TOO_MANY_WAITING_CALLS,
            Self::StillWaiting { .. } => &codes::STILL_WAITING,
            Self::RequestFailed(failure) => code_of_failure(failure),
            Self::RequestCancelled(_) => &codes::CANCELLED,
        }
    }

    fn message(&self) -> String {
        match self {
            Self::App(error) => error.to_string(),
            Self::NoMetricsToken => {
                "the token of the metrics is required, as Authorization: Bearer".to_owned()
            }
            Self::ForeignHost => {
                "the metrics are not called by this name: call an IP address, localhost, the host of `public_url` or the name in `node`, or set `metrics_token_env`".to_owned()
            }
            Self::InsufficientScope(KeyScope::Admin) => {
                "this call needs an API key with the scope `admin`, which operators make".to_owned()
            }
            Self::InsufficientScope(_) => {
                "this API key has the scope `read` and changes nothing; use one with the scope `write`".to_owned()
            }
            Self::HttpsRequired => "the service is called by https:// here".to_owned(),
            Self::RepeatedHeader(name) => format!("the header `{name}` must not be repeated"),
            Self::NoHost => "a call over HTTP/1.1 must have the header `host`".to_owned(),
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

    /// Whether a repeat would be refused again in any case, or would ask for the same work twice.
    pub(super) const fn is_final(&self) -> bool {
        match self {
            Self::App(
                AppError::PaymentsNotActivated
                | AppError::AccountSuspended
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

    /// The native error body of this call.
    pub(super) fn body(&self, call: CallId) -> ErrorBody {
        let code = self.code();
        let none = InvalidInput::default();
        let invalid = if let Self::App(AppError::Invalid(invalid)) = self { invalid } else { &none };
        let details: Vec<ErrorDetail> = invalid.details.iter().map(detail).collect();
        let failed_param = if let Self::RequestFailed(failure) = self { failure.param.clone() } else { None };
        ErrorBody {
            message: self.message(),
            kind: code.kind.to_owned(),
            code: code.code.to_owned(),
            param: details.first().and_then(|detail| detail.param.clone()).or(failed_param),
            details,
            details_total: invalid.total.map(|total| total as u64),
            request_id: call.to_string(),
        }
    }
}

/// The code of a failed request, by whose fault it is.
fn code_of_failure(failure: &FailureBody) -> &'static ErrorCode {
    match failure.code.as_str() {
        "engine_rejected" => &codes::ENGINE_REJECTED,
        "expired" => &codes::EXPIRED,
        "engine_unavailable" => &codes::ENGINE_UNAVAILABLE,
        _ => &codes::ENGINE_INVALID_RESPONSE,
    }
}

/// Milliseconds as whole seconds, rounded up.
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
    /// Only the status; the refusal is attached until [`write`] adds the envelope.
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.code().status;
        response.extensions_mut().insert(Arc::new(self));
        response
    }
}

/// Logs the store's message, which clients do not see.
pub fn log(error: &AppError, call: impl Display) {
    match error {
        AppError::Internal(_) => tracing::error!(error = error.in_full(), "{call} failed"),
        AppError::StoreAway { .. } => {
            tracing::warn!(error = error.in_full(), "{call} was refused: store unavailable");
        }
        _ => {}
    }
}

/// Writes an error in a dialect's form. The response has the native status and headers, which it may change.
pub(super) type WriteRefusal = fn(&Refusal, CallId, &mut Response);

/// Gives an error the form of its dialect, and logs internal faults.
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

/// The native envelope.
pub(super) fn write_envelope(refusal: &Refusal, call: CallId, response: &mut Response) {
    let envelope = serde_json::to_vec(&ErrorEnvelope { error: refusal.body(call) }).unwrap_or_default();
    *response.body_mut() = Body::from(envelope);
}
