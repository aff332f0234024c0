//! What goes wrong with the provider. None of it shows the client's secret.

use openidconnect::core::CoreErrorResponseType;
use openidconnect::{
    ClaimsVerificationError, DiscoveryError, RequestTokenError, SignatureVerificationError,
    StandardErrorResponse, UserInfoError,
};
use thiserror::Error;

use super::calls::CallFailed;
use crate::transport::{in_words, printable};

/// Why the provider cannot be used as configured, in words for the operator.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum OpenIdUnusable {
    /// The variable that should hold the client's secret does not.
    #[error(
        "single sign-on: the environment variable {variable}, which should hold the client's secret, {reason}"
    )]
    Secret {
        /// The variable that the settings name.
        variable: String,
        reason: &'static str,
    },
    /// No secure connection can be made from this machine.
    #[error("single sign-on: no secure connection can be made: {0}")]
    Tls(String),
    /// The issuer is none that can be asked.
    #[error("single sign-on: `console.oidc.issuer` is no address: {0}")]
    Issuer(String),
}

/// Why nobody was signed in. The words are for the operator.
#[derive(Debug, Error)]
pub enum OpenIdError {
    /// It cannot be used as configured.
    #[error(transparent)]
    Unusable(#[from] OpenIdUnusable),
    /// It could not be reached, or did not answer in time. The same call may succeed later.
    #[error("the provider is away: {0}")]
    Away(String),
    /// It refuses the code, or us.
    #[error("the provider refuses: {0}")]
    Refused(String),
    /// It sent the browser back without a code, for this reason in its own words.
    #[error("the provider signs nobody in: {0}")]
    Declined(String),
    /// Its answer is none that it has promised.
    #[error("the provider's answer is not understood: {0}")]
    NotUnderstood(String),
    /// What it says of somebody is not signed by it, not meant for us, not for this sign-in, or not any more.
    #[error("what the provider says is not believed: {}", in_words(.0))]
    Unbelieved(ClaimsVerificationError),
}

impl OpenIdError {
    /// Whether it may pass by itself, so that trying again later is worthwhile.
    pub const fn is_passing(&self) -> bool {
        matches!(self, Self::Away(_))
    }

    /// Whether another key may show that it signed after all.
    pub(super) const fn is_of_a_key(&self) -> bool {
        use SignatureVerificationError as Unsigned;
        matches!(
            self,
            Self::Unbelieved(ClaimsVerificationError::SignatureVerification(
                Unsigned::NoMatchingKey
                    | Unsigned::CryptoError(_)
                    | Unsigned::InvalidKey(_)
                    | Unsigned::AmbiguousKeyId(_)
            ))
        )
    }
}

impl From<CallFailed> for OpenIdError {
    fn from(failed: CallFailed) -> Self {
        match failed {
            CallFailed::Away(words) => Self::Away(words),
            CallFailed::TooLong => Self::NotUnderstood(failed.to_string()),
        }
    }
}

impl From<DiscoveryError<CallFailed>> for OpenIdError {
    fn from(error: DiscoveryError<CallFailed>) -> Self {
        match error {
            DiscoveryError::Request(failed) => failed.into(),
            error => Self::NotUnderstood(printable(&in_words(&error))),
        }
    }
}

impl From<RequestTokenError<CallFailed, StandardErrorResponse<CoreErrorResponseType>>> for OpenIdError {
    fn from(error: RequestTokenError<CallFailed, StandardErrorResponse<CoreErrorResponseType>>) -> Self {
        match error {
            RequestTokenError::Request(failed) => failed.into(),
            RequestTokenError::ServerResponse(told) => Self::Refused(printable(&told.to_string())),
            error => Self::NotUnderstood(printable(&in_words(&error))),
        }
    }
}

impl From<UserInfoError<CallFailed>> for OpenIdError {
    fn from(error: UserInfoError<CallFailed>) -> Self {
        match error {
            UserInfoError::Request(failed) => failed.into(),
            UserInfoError::ClaimsVerification(error) => Self::Unbelieved(error),
            error => Self::NotUnderstood(printable(&in_words(&error))),
        }
    }
}
