use openidconnect::core::CoreErrorResponseType;
use openidconnect::{
    ClaimsVerificationError, DiscoveryError, RequestTokenError, SignatureVerificationError,
    StandardErrorResponse, UserInfoError,
};
use thiserror::Error;

use super::calls::CallFailed;
use crate::transport::{in_words, printable};

/// Why the provider cannot be used as configured, for the operator.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum OpenIdUnusable {
    /// The variable of the client's secret is unusable.
    #[error(
        "single sign-on: the environment variable {variable}, which should hold the client's secret, {reason}"
    )]
    Secret { variable: String, reason: &'static str },
    /// This machine cannot make TLS connections.
    #[error("single sign-on: no secure connection can be made: {0}")]
    Tls(String),
    /// The issuer is not a URL that can be called.
    #[error("single sign-on: `console.oidc.issuer` is no address: {0}")]
    Issuer(String),
}

/// Why a sign-in failed, for the operator. No message contains the client's secret.
#[derive(Debug, Error)]
pub enum OpenIdError {
    #[error(transparent)]
    Unusable(#[from] OpenIdUnusable),
    /// Unreachable, or no answer in time. The same call may succeed later.
    #[error("the provider is away: {0}")]
    Away(String),
    /// The provider refuses the code, or the client.
    #[error("the provider refuses: {0}")]
    Refused(String),
    /// The browser came back without a code, for this reason in the provider's words.
    #[error("the provider signs nobody in: {0}")]
    Declined(String),
    /// The answer breaks the specification.
    #[error("the provider's answer is not understood: {0}")]
    NotUnderstood(String),
    /// The claims are not signed by the provider, or not for this client or sign-in, or expired.
    #[error("what the provider says is not believed: {}", in_words(.0))]
    Unbelieved(ClaimsVerificationError),
}

impl OpenIdError {
    /// Whether a later retry may succeed.
    pub const fn is_passing(&self) -> bool {
        matches!(self, Self::Away(_))
    }

    /// Whether another key may verify the signature.
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
