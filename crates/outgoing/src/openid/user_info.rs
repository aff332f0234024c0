//! The user info endpoint, whose answer is plain JSON or signed. The token library accepts only RS256 for signed answers; providers use
//! other algorithms too, so they are verified here.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hyper::StatusCode;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use openidconnect::url::Url;
use openidconnect::{
    AccessToken, AsyncHttpClient, ClaimsVerificationError as Unbelieved, ClientId, HttpRequest, HttpResponse,
    IssuerUrl, JsonWebKey, JsonWebKeyId, SignatureVerificationError as Unsigned, SubjectIdentifier,
};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::OpenIdError;
use super::calls::{CallFailed, Calls};
use super::keys::Algorithm;
use super::shapes::{Keys, UserInfoClaims};

const JSON: &str = "application/json";
const JWT: &str = "application/jwt";

pub(super) enum Told {
    Plain(Vec<u8>),
    Signed(String),
}

/// The header of a signed answer.
#[derive(Deserialize)]
struct Head {
    alg: Algorithm,
    kid: Option<JsonWebKeyId>,
    crit: Option<IgnoredAny>,
}

/// Asks about the person for whom `access` was issued.
pub(super) async fn ask(url: &Url, access: &AccessToken, calls: &Calls) -> Result<Told, OpenIdError> {
    let mut bearer = HeaderValue::try_from(format!("Bearer {}", access.secret()))
        .map_err(|_| OpenIdError::NotUnderstood("its access token is no text".to_owned()))?;
    bearer.set_sensitive(true);
    let request = HttpRequest::new(Vec::new());
    let (mut head, body) = request.into_parts();
    head.uri = url.as_str().parse().map_err(|error| {
        OpenIdError::NotUnderstood(format!("its userinfo endpoint is no address: {error}"))
    })?;
    head.headers.insert(AUTHORIZATION, bearer);
    head.headers.insert(ACCEPT, HeaderValue::from_static("application/json, application/jwt"));
    let answer = calls.call(HttpRequest::from_parts(head, body)).await?;
    read(answer)
}

fn read(answer: HttpResponse) -> Result<Told, OpenIdError> {
    let not_understood = |what: String| Err(OpenIdError::NotUnderstood(what));
    if answer.status() != StatusCode::OK {
        return not_understood(format!("asked about somebody, it answers {}", answer.status()));
    }
    let kind = answer.headers().get(CONTENT_TYPE).map_or(Ok(JSON), HeaderValue::to_str).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let body = answer.into_body();
    match kind.as_str() {
        JSON => Ok(Told::Plain(body)),
        JWT => match String::from_utf8(body) {
            Ok(token) => Ok(Told::Signed(token)),
            Err(_) => not_understood("what it says of somebody is no text".to_owned()),
        },
        _ => not_understood("what it says of somebody is neither JSON nor a JSON Web Token".to_owned()),
    }
}

impl Told {
    /// The claims, if they are of `subject`; a signature must be the provider's, for this client.
    pub(super) fn claims(
        &self,
        client_id: &ClientId,
        issuer: &IssuerUrl,
        keys: &Keys,
        subject: &SubjectIdentifier,
    ) -> Result<UserInfoClaims, OpenIdError> {
        let of = |body: &[u8]| UserInfoClaims::from_json::<CallFailed>(body, Some(subject));
        let token = match self {
            Self::Plain(body) => return Ok(of(body)?),
            Self::Signed(token) => token,
        };
        let body = opened(token.trim(), keys)
            .map_err(|error| OpenIdError::Unbelieved(Unbelieved::SignatureVerification(error)))?;
        let claims = of(&body)?;
        if claims.issuer() != Some(issuer) {
            return Err(OpenIdError::Unbelieved(Unbelieved::InvalidIssuer(
                "user info names another, or none".to_owned(),
            )));
        }
        let audiences = claims.audiences().map(Vec::as_slice).unwrap_or_default();
        if audiences.is_empty() || audiences.iter().any(|audience| audience.as_str() != client_id.as_str()) {
            return Err(OpenIdError::Unbelieved(Unbelieved::InvalidAudience(
                "user info is for another, or for nobody".to_owned(),
            )));
        }
        Ok(claims)
    }
}

/// The payload, if one of the keys has signed it.
fn opened(token: &str, keys: &Keys) -> Result<Vec<u8>, Unsigned> {
    let no_token = || Unsigned::Other("user info is no signed token".to_owned());
    let (signed, signature) = token.rsplit_once('.').ok_or_else(no_token)?;
    let (head, body) = signed.split_once('.').ok_or_else(no_token)?;
    let decoded = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| no_token());
    let head: Head = serde_json::from_slice(&decoded(head)?).map_err(|_| no_token())?;
    if !head.alg.is_allowed() || head.crit.is_some() {
        return Err(Unsigned::DisallowedAlg("user info is signed in a way that is not believed".to_owned()));
    }
    let signature = decoded(signature)?;
    let may_have_signed = |key: &&_| head.kid.is_none() || head.kid.as_ref() == JsonWebKey::key_id(*key);
    let mut error = Unsigned::NoMatchingKey;
    for key in keys.keys().iter().filter(may_have_signed) {
        match key.verify_signature(&head.alg, signed.as_bytes(), &signature) {
            Ok(()) => return decoded(body),
            Err(refused) => error = refused,
        }
    }
    Err(error)
}
