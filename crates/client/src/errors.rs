//! What can go wrong.

use std::error::Error as _;
use std::time::Duration;

use overnight_wire::native::errors::ErrorBody;
use thiserror::Error;

/// The longest line of a list that is read.
pub const LINE_BYTES_MAX: usize = 256 << 20;

/// Why a call failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The service refused. Nothing was changed.
    #[error("{} ({}, HTTP {status}, {})", error.message, error.code, error.request_id)]
    Api {
        /// The HTTP status.
        status: u16,
        /// The refusal in the service's words.
        error: Box<ErrorBody>,
        /// How long the service asks to wait before another try.
        retry_after: Option<Duration>,
    },
    /// No answer came. A create may have been accepted all the same, unless `is_connect` says that it was never sent.
    #[error("no answer: {}", root(.0))]
    Transport(reqwest::Error),
    /// The answer was cut off before its end. What was read of it is true, and not all.
    #[error("the answer was cut off: {0}")]
    Cut(String),
    /// Something answered that does not speak this API, such as a proxy.
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
    /// One line of a list is longer than [`LINE_BYTES_MAX`].
    #[error("a line of the answer is longer than {LINE_BYTES_MAX} bytes")]
    LineTooLong,
    /// The call cannot be made; nothing was sent.
    #[error("{0}")]
    Invalid(String),
}

impl Error {
    /// The service's code for a refusal, such as `not_found`; `None` where it is not the service that refused.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Api { error, .. } => Some(&error.code),
            _ => None,
        }
    }
}

/// An answer that began and did not end.
pub(crate) fn cut(error: &reqwest::Error) -> Error {
    Error::Cut(root(error))
}

/// The innermost cause, which is the one a person can act on.
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
