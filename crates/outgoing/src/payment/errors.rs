//! Payment errors. None of them contains a key.

use thiserror::Error;

/// Why the provider cannot be used as configured, for the operator.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PaymentUnusable {
    /// The variable of a key is unusable.
    #[error("payments: the environment variable {variable}, which should hold {what}, {reason}")]
    Secret { variable: String, what: &'static str, reason: &'static str },
    /// This machine cannot make TLS connections.
    #[error("payments: no secure connection can be made: {0}")]
    Tls(String),
    /// The base URL is not a valid HTTP URL.
    #[error("payments: `billing.stripe.base_url` is no address for HTTP: {0}")]
    Address(String),
}

/// Why a call failed, for the operator; a payer learns only that it failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PaymentError {
    #[error("no payments are taken here: the operator grants credits with `overnight account grant`")]
    NotTaken,
    #[error(transparent)]
    Unusable(#[from] PaymentUnusable),
    /// Unreachable, no answer in time, or overloaded. The same call may succeed later.
    #[error("the payment provider is away: {0}")]
    Away(String),
    /// The call failed. Another may succeed; the same order may get the same failure for a day.
    #[error("the payment provider failed: {0}")]
    Broken(String),
    /// Refused; the same call is refused again.
    #[error("the payment provider refuses: {message} ({code})")]
    Refused { code: String, message: String },
    /// The answer breaks the provider's documentation.
    #[error("the payment provider's answer is not understood: {0}")]
    NotUnderstood(String),
}

impl PaymentError {
    /// Whether a later retry may succeed.
    pub const fn is_passing(&self) -> bool {
        matches!(self, Self::Away(_) | Self::Broken(_))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NoticeRefused {
    #[error("no payments are taken here")]
    NotTaken,
    /// Signatures cannot be verified as configured. The provider may send the notice again.
    #[error(transparent)]
    Unusable(#[from] PaymentUnusable),
    #[error("the signature header is missing")]
    NoSignature,
    #[error("the signature header is malformed")]
    MalformedSignature,
    /// Signed by someone else, or changed in transit.
    #[error("no signature fits the body")]
    WrongSignature,
    /// Signed too long ago: perhaps a replay.
    #[error("it was signed too long ago")]
    TooOld,
    /// Signed for the future: a clock is wrong.
    #[error("it was signed in the future")]
    FromTheFuture,
    /// Signed by the provider, but not as documented.
    #[error("it is not understood: {0}")]
    Malformed(String),
}
