//! The provider's claims about a person, and their verification.

use chrono::DateTime;
use openidconnect::{ClaimsVerificationError as Unbelieved, ClientId, IdTokenVerifier, IssuerUrl, Nonce};
use overnight_config::OidcConfig;
use overnight_domain::text;

use super::OpenIdError;
use super::keys::Algorithm;
use super::shapes::{IdToken, IdTokenClaims, Keys, UserInfoClaims};

/// As long as the specification allows, in bytes.
const SUBJECT_BYTES_MAX: usize = 255;

/// How far ahead the provider's clock may be, in milliseconds.
const CLOCK_DIFFERENCE_MS: i64 = 300_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    pub issuer: String,
    /// The provider's stable and unique name of the person.
    pub subject: String,
    /// `None` unless it is verified.
    pub email: Option<String>,
}

/// What verifies an e-mail address beside `email_verified`, as configured.
#[derive(Debug, Clone, Default)]
pub(super) struct Trust {
    edov: bool,
    domains: Vec<String>,
}

impl Trust {
    pub(super) fn of(config: &OidcConfig) -> Self {
        Self { edov: config.trust_xms_edov, domains: config.verified_domains.clone() }
    }

    /// The address, if it is verified. An address that the provider denies is not, whatever is configured.
    fn verified(&self, email: Option<&str>, is_verified: Option<bool>, edov: Option<bool>) -> Option<String> {
        let email = email?;
        let is_so = match (is_verified, edov) {
            (Some(false), _) | (_, Some(false)) => false,
            (Some(true), _) => true,
            (None, edov) => (self.edov && edov == Some(true)) || self.has_domain_of(email),
        };
        is_so.then(|| email.to_owned())
    }

    fn has_domain_of(&self, email: &str) -> bool {
        let domain = email.rsplit_once('@').filter(|(name, _)| !name.is_empty()).map(|(_, domain)| domain);
        domain.is_some_and(|domain| self.domains.iter().any(|known| known.eq_ignore_ascii_case(domain)))
    }
}

/// Whether the text is a valid subject.
pub fn is_subject(text: &str) -> bool {
    !text.is_empty() && text.len() <= SUBJECT_BYTES_MAX && !text.contains(text::misleads)
}

impl Person {
    pub(super) fn of(claims: &IdTokenClaims, trust: &Trust) -> Result<Self, OpenIdError> {
        let subject = claims.subject().as_str();
        if !is_subject(subject) {
            return Err(OpenIdError::NotUnderstood(
                "it calls somebody by a name that is too short, too long or no text".to_owned(),
            ));
        }
        let email = claims.email().map(|email| email.as_str());
        let edov = claims.additional_claims().xms_edov;
        Ok(Self {
            issuer: claims.issuer().to_string(),
            subject: subject.to_owned(),
            email: trust.verified(email, claims.email_verified(), edov),
        })
    }

    /// Adds claims from the user info endpoint.
    pub(super) fn learn(&mut self, told: &UserInfoClaims, trust: &Trust) {
        let email = told.email().map(|email| email.as_str());
        self.email = trust.verified(email, told.email_verified(), told.additional_claims().xms_edov);
    }
}

/// The claims of an ID token that is the provider's, for this client and this sign-in, and valid at `now`.
/// <https://openid.net/specs/openid-connect-core-1_0.html#IDTokenValidation>
pub(super) fn verify(
    token: &IdToken,
    client_id: &ClientId,
    issuer: &IssuerUrl,
    keys: &Keys,
    nonce: &Nonce,
    now: i64,
) -> Result<IdTokenClaims, OpenIdError> {
    // A verifier without a secret accepts nothing that is signed with one.
    let verifier = IdTokenVerifier::new_public_client(client_id.clone(), issuer.clone(), keys.clone())
        .set_allowed_algs(Algorithm::allowed())
        .set_time_fn(move || DateTime::from_timestamp_millis(now).unwrap_or_default());
    let claims = token.claims(&verifier, nonce).map_err(OpenIdError::Unbelieved)?;
    check_times(claims, now)
        .and_then(|()| check_party(claims, client_id))
        .map_err(OpenIdError::Unbelieved)?;
    Ok(claims.clone())
}

/// Refuses a token of the future. The library checks the end only.
fn check_times(claims: &IdTokenClaims, now: i64) -> Result<(), Unbelieved> {
    let latest = now.saturating_add(CLOCK_DIFFERENCE_MS);
    let is_early = claims.additional_claims().nbf.is_some_and(|second| second * 1_000.0 > latest as f64);
    if is_early || claims.issue_time().timestamp_millis() > latest {
        return Err(Unbelieved::Other("the ID token is not valid yet: do both clocks agree?".to_owned()));
    }
    Ok(())
}

/// Refuses a token that was issued to another client, even if it may be used here.
fn check_party(claims: &IdTokenClaims, client_id: &ClientId) -> Result<(), Unbelieved> {
    match claims.authorized_party() {
        Some(party) if party != client_id => {
            Err(Unbelieved::InvalidAudience("the ID token was issued to another client".to_owned()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMAIL: &str = "a@Example.com";

    fn trust(edov: bool, domains: &[&str]) -> Trust {
        Trust { edov, domains: domains.iter().map(|&domain| domain.to_owned()).collect() }
    }

    #[test]
    fn an_address_is_verified_by_the_provider_or_as_the_operator_says_and_never_against_the_provider() {
        let (none, edov) = (trust(false, &[]), trust(true, &[]));
        let (domain, both) = (trust(false, &["example.com"]), trust(true, &["example.com"]));
        let (yes, no) = (Some(true), Some(false));
        for (is_verified, told, verified_by) in [
            (None, None, [false, false, true, true]),
            (None, yes, [false, true, true, true]),
            (None, no, [false; 4]),
            (yes, None, [true; 4]),
            (yes, yes, [true; 4]),
            (yes, no, [false; 4]),
            (no, None, [false; 4]),
            (no, yes, [false; 4]),
            (no, no, [false; 4]),
        ] {
            let found = [&none, &edov, &domain, &both]
                .map(|trust| trust.verified(Some(EMAIL), is_verified, told).is_some());
            assert_eq!(found, verified_by, "{is_verified:?} {told:?}");
        }
        assert_eq!(both.verified(None, yes, yes), None);
    }

    #[test]
    fn a_domain_is_compared_whole() {
        let trust = trust(false, &["example.com"]);
        for (email, expected) in [
            ("a@example.com", true),
            ("a@EXAMPLE.COM", true),
            ("\"a@b\"@example.com", true),
            ("a@sub.example.com", false),
            ("a@notexample.com", false),
            ("a@example.com.evil.org", false),
            ("a@example.com@evil.org", false),
            ("a@example.com.", false),
            ("a@example.com ", false),
            ("a@\u{212a}example.com", false),
            ("@example.com", false),
            ("example.com", false),
        ] {
            assert_eq!(trust.has_domain_of(email), expected, "{email}");
        }
    }
}
