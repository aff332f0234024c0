//! What the provider says of somebody, and whether it is believed.

use chrono::DateTime;
use openidconnect::core::{CoreIdToken, CoreIdTokenClaims, CoreJwsSigningAlgorithm, CoreUserInfoClaims};
use openidconnect::{AccessToken, Nonce, SubjectIdentifier};

use super::OpenIdError;
use super::calls::Calls;
use super::known::Client;

/// The longest subject that is kept, in bytes: as long as the specification lets it be.
const SUBJECT_BYTES_MAX: usize = 255;

/// How an ID token may be signed. Not by the client's secret: whoever has that could sign too.
const ALGORITHMS: [CoreJwsSigningAlgorithm; 9] = [
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha384,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha512,
    CoreJwsSigningAlgorithm::RsaSsaPssSha256,
    CoreJwsSigningAlgorithm::RsaSsaPssSha384,
    CoreJwsSigningAlgorithm::RsaSsaPssSha512,
    CoreJwsSigningAlgorithm::EcdsaP256Sha256,
    CoreJwsSigningAlgorithm::EcdsaP384Sha384,
    CoreJwsSigningAlgorithm::EdDsa,
];

/// Somebody whom the provider knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// The provider.
    pub issuer: String,
    /// The provider's name of them, which never changes and is never anybody else's.
    pub subject: String,
    /// Their e-mail address, if the provider says that it is theirs.
    pub email: Option<String>,
}

impl Person {
    pub(super) fn of(claims: &CoreIdTokenClaims) -> Result<Self, OpenIdError> {
        let subject = claims.subject().as_str();
        if subject.is_empty() || subject.len() > SUBJECT_BYTES_MAX {
            return Err(OpenIdError::NotUnderstood(
                "it calls somebody by too short or too long a name".to_owned(),
            ));
        }
        Ok(Self {
            issuer: claims.issuer().to_string(),
            subject: subject.to_owned(),
            email: verified(claims.email().map(|email| email.as_str()), claims.email_verified()),
        })
    }

    /// Takes in what was told besides.
    pub(super) fn learn(&mut self, told: &CoreUserInfoClaims) {
        self.email = verified(told.email().map(|email| email.as_str()), told.email_verified());
    }
}

fn verified(email: Option<&str>, is_verified: Option<bool>) -> Option<String> {
    email.filter(|_| is_verified == Some(true)).map(str::to_owned)
}

/// What an ID token says, if it is the provider's, for us, for this sign-in, and still holds at `now`.
pub(super) fn verify(
    client: &Client,
    token: &CoreIdToken,
    nonce: &Nonce,
    now: i64,
) -> Result<CoreIdTokenClaims, OpenIdError> {
    let verifier = client
        .id_token_verifier()
        .set_allowed_algs(ALGORITHMS)
        .set_time_fn(move || DateTime::from_timestamp_millis(now).unwrap_or_default());
    token.claims(&verifier, nonce).cloned().map_err(OpenIdError::Unbelieved)
}

/// What the provider says besides, when it is asked.
pub(super) async fn ask(
    client: &Client,
    access: &AccessToken,
    subject: Option<SubjectIdentifier>,
    calls: &Calls,
) -> Result<CoreUserInfoClaims, OpenIdError> {
    let request = client
        .user_info(access.clone(), subject)
        .map_err(|error| OpenIdError::NotUnderstood(error.to_string()))?;
    Ok(request.request_async(calls).await?)
}
