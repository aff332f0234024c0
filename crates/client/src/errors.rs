//! Errors of calls.

use std::error::Error as _;
use std::time::Duration;

use overnight_wire::native::errors::ErrorBody;
use thiserror::Error;

/// The longest line of a list, in bytes.
pub const LINE_BYTES_MAX: usize = 256 << 20;

/// The error of a call.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The service refused the call. Nothing changed.
    #[error("{} ({}, HTTP {status}, {})", error.message, error.code, error.request_id)]
    Api {
        /// The HTTP status.
        status: u16,
        /// The service's description.
        error: Box<ErrorBody>,
        /// The pause that the service requests before another try.
        retry_after: Option<Duration>,
    },
    /// No answer arrived. A create may have been accepted, unless `is_connect` says that it was not sent.
    #[error("no answer: {}", root(.0))]
    Transport(reqwest::Error),
    /// The answer was cut off. The lines before the cut are valid, but not all.
    #[error("the answer was cut off: {0}")]
    Cut(String),
    /// The answer is not from this API but, for example, from a proxy.
    #[error("HTTP {status} without an error of this API: {text}")]
    Foreign {
        /// The HTTP status.
        status: u16,
        /// The beginning of the answer.
        text: String,
    },
    /// The answer is not the JSON that this API promises.
    #[error("the answer cannot be read: {0}")]
    Unreadable(#[source] serde_json::Error),
    /// A line of a list is longer than [`LINE_BYTES_MAX`].
    #[error("a line of the answer is longer than {LINE_BYTES_MAX} bytes")]
    LineTooLong,
    /// The call is invalid; nothing was sent.
    #[error("{0}")]
    Invalid(String),
}

impl Error {
    /// The service's code for a refusal, such as `not_found`; `None` for other errors.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Api { error, .. } => Some(&error.code),
            _ => None,
        }
    }
}

pub(crate) fn cut(error: &reqwest::Error) -> Error {
    Error::Cut(root(error))
}

/// The innermost cause, on which a person can act.
pub(crate) fn root(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    match (error.source(), error.url()) {
        (Some(_), Some(url)) => format!("{cause} ({})", url.origin().ascii_serialization()),
        _ => cause.to_string(),
    }
}
