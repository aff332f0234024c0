//! What goes wrong with payments. None of it shows a key.

use thiserror::Error;

/// Why the provider cannot be used as configured, in words for the operator.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PaymentUnusable {
    /// The variable that should hold a key does not.
    #[error("payments: the environment variable {variable}, which should hold {what}, {reason}")]
    Secret {
        /// The variable that the settings name.
        variable: String,
        what: &'static str,
        reason: &'static str,
    },
    /// No secure connection can be made from this machine.
    #[error("payments: no secure connection can be made: {0}")]
    Tls(String),
    /// The base URL is none that HTTP can carry.
    #[error("payments: `billing.stripe.base_url` is no address for HTTP: {0}")]
    Address(String),
}

/// Why the provider did not do what it was asked. The words are for the operator; a payer is told that it failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PaymentError {
    #[error("no payments are taken here: the operator grants credits with `overnight account grant`")]
    NotTaken,
    /// It cannot be used as configured.
    #[error(transparent)]
    Unusable(#[from] PaymentUnusable),
    /// It could not be reached, did not answer in time, or is too busy. The same call may succeed later.
    #[error("the payment provider is away: {0}")]
    Away(String),
    /// It failed. Another call may succeed; the same order is perhaps answered with the same failure for a day.
    #[error("the payment provider failed: {0}")]
    Broken(String),
    /// It refused, and refuses the same call again.
    #[error("the payment provider refuses: {message} ({code})")]
    Refused { code: String, message: String },
    /// Its answer is none that it has promised.
    #[error("the payment provider's answer is not understood: {0}")]
    NotUnderstood(String),
}

impl PaymentError {
    /// Whether it may pass by itself, so that trying again later is worthwhile.
    pub const fn is_passing(&self) -> bool {
        matches!(self, Self::Away(_) | Self::Broken(_))
    }
}

/// Why a notice was not read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NoticeRefused {
    /// Nobody takes payments, so nobody has anything to tell of them.
    #[error("no payments are taken here")]
    NotTaken,
    /// Signatures cannot be checked as configured. The provider may send it again once they can.
    #[error(transparent)]
    Unusable(#[from] PaymentUnusable),
    /// It is not signed.
    #[error("the signature header is missing")]
    NoSignature,
    /// Its signature header cannot be read.
    #[error("the signature header is malformed")]
    MalformedSignature,
    /// It is signed by somebody else, or was changed on its way.
    #[error("no signature fits the body")]
    WrongSignature,
    /// It was signed too long ago: perhaps somebody repeats what was once overheard.
    #[error("it was signed too long ago")]
    TooOld,
    /// It is signed for a time to come: a clock is wrong.
    #[error("it was signed in the future")]
    FromTheFuture,
    /// The provider signed it, and it is not what the provider has promised.
    #[error("it is not understood: {0}")]
    Malformed(String),
}
