//! Sign-in by OpenID Connect, with the authorization code flow and PKCE. Its effect on users is decided elsewhere.
//! <https://openid.net/specs/openid-connect-core-1_0.html>

mod calls;
mod claims;
mod errors;
mod keys;
mod known;
mod secrets;
mod shapes;
mod user_info;

use std::ffi::OsString;

use openidconnect::core::CoreAuthenticationFlow;
use openidconnect::{
    AuthType, AuthorizationCode, ClientId, ClientSecret, CsrfToken, Nonce, OAuth2TokenResponse,
    PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, Scope, TokenResponse,
};
use url::form_urlencoded;

pub use self::claims::{Person, is_subject};
pub use self::errors::{OpenIdError, OpenIdUnusable};
pub use self::secrets::SignInSecret;

use overnight_base::clock::SharedClock;
use overnight_base::secrets::Secret;
use overnight_config::{OidcConfig, OutgoingConfig};

use self::calls::Calls;
use self::claims::Trust;
use self::known::{Known, Provider};
use self::shapes::Client;
use crate::transport::printable;

/// Makes no call before the first sign-in.
pub struct OpenId {
    name: String,
    client_id: ClientId,
    client_secret: Result<Option<Secret>, OpenIdUnusable>,
    provider: Result<Provider, OpenIdUnusable>,
    trust: Trust,
    clock: SharedClock,
}

/// The query parameters, beside the state, with which a browser returns from the provider.
#[derive(Debug, Clone, Default)]
pub struct Returned {
    /// Exchanged for the tokens.
    pub code: Option<String>,
    /// Why there is no code.
    pub error: Option<String>,
    pub error_description: Option<String>,
    pub issuer: Option<String>,
}

impl Returned {
    fn declined(&self) -> OpenIdError {
        let words: Vec<&str> =
            [&self.error, &self.error_description].into_iter().flatten().map(|it| &**it).collect();
        OpenIdError::Declined(if words.is_empty() {
            "nothing".to_owned()
        } else {
            printable(&words.join(": "))
        })
    }
}

impl OpenId {
    /// The client's secret is in the environment variable that the settings name. If it is missing, [`OpenId::check`] and every use fail,
    /// but not this call.
    pub fn new(config: &OidcConfig, outgoing: &OutgoingConfig, clock: &SharedClock) -> Self {
        Self::with(config, outgoing, clock, |variable| std::env::var_os(variable))
    }

    /// The same, with injected variables.
    pub fn with(
        config: &OidcConfig,
        outgoing: &OutgoingConfig,
        clock: &SharedClock,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Self {
        let secret = |name: &String| {
            let read = Secret::read_as_it_is(variable(name));
            read.map_err(|reason| OpenIdUnusable::Secret { variable: name.clone(), reason })
        };
        Self {
            name: config.name.clone(),
            client_id: ClientId::new(config.client_id.clone()),
            client_secret: config.client_secret_env.as_ref().map(secret).transpose(),
            provider: Calls::new(&config.issuer, outgoing, clock)
                .and_then(|calls| Provider::new(&config.issuer, calls, clock)),
            trust: Trust::of(config),
            clock: clock.clone(),
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the provider can be used as configured. Makes no call.
    pub fn check(&self) -> Result<(), OpenIdUnusable> {
        self.secret()?;
        self.provider()?;
        Ok(())
    }

    /// Whether the provider's metadata can be fetched and is valid.
    pub async fn discover(&self) -> Result<(), OpenIdError> {
        self.check()?;
        self.provider()?.ask().await.map(drop)
    }

    /// The provider's sign-in page for a browser; it returns to `return_url`.
    pub async fn begin(&self, secret: &SignInSecret, return_url: &str) -> Result<String, OpenIdError> {
        let client = self.client(&self.provider()?.known().await?, return_url)?;
        let (state, nonce) = (CsrfToken::new(secret.state()), Nonce::new(secret.nonce()));
        let verifier = PkceCodeVerifier::new(secret.verifier());
        let request = client
            .authorize_url(CoreAuthenticationFlow::AuthorizationCode, move || state, move || nonce)
            .add_scope(Scope::new("email".to_owned()))
            .set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(&verifier));
        Ok(request.url().0.into())
    }

    /// The person who signed in, given the browser's secret and what it returned with.
    pub async fn finish(
        &self,
        secret: &SignInSecret,
        returned: &Returned,
        return_url: &str,
    ) -> Result<Person, OpenIdError> {
        let provider = self.provider()?;
        let mut known = provider.known().await?;
        let code = known.code(returned)?;
        let client = self.client(&known, return_url)?;
        let answer = client
            .exchange_code(AuthorizationCode::new(code.to_owned()))
            .map_err(|error| OpenIdError::NotUnderstood(error.to_string()))?
            .set_pkce_verifier(PkceCodeVerifier::new(secret.verifier()))
            .request_async(provider.calls())
            .await
            .map_err(|error| self.concealed(error.into()))?;
        let no_token = || OpenIdError::NotUnderstood("it gave no ID token".to_owned());
        let token = answer.id_token().ok_or_else(no_token)?;
        let (nonce, now) = (Nonce::new(secret.nonce()), self.clock.now());
        let claims = believed(provider, &mut known, |known| {
            claims::verify(token, &self.client_id, known.issuer(), known.keys(), &nonce, now)
        });
        let claims = claims.await?;
        let mut person = Person::of(&claims, &self.trust)?;
        let user_info = known.user_info().filter(|_| claims.email().is_none()).cloned();
        if let Some(url) = user_info {
            let told = user_info::ask(&url, answer.access_token(), provider.calls()).await?;
            let told = believed(provider, &mut known, |known| {
                told.claims(&self.client_id, known.issuer(), known.keys(), claims.subject())
            });
            person.learn(&told.await?, &self.trust);
        }
        Ok(person)
    }

    fn client(&self, known: &Known, return_url: &str) -> Result<Client, OpenIdError> {
        let refused = |error: url::ParseError| OpenIdError::NotUnderstood(error.to_string());
        let return_url = RedirectUrl::new(return_url.to_owned()).map_err(refused)?;
        let secret = self.secret()?.map(Secret::reveal);
        let is_written_in_one_way = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).eq([text]);
        let is_plain =
            [Some(self.client_id.as_str()), secret].into_iter().flatten().all(is_written_in_one_way);
        let way = match known.wants_secret_in_body(is_plain) {
            true => AuthType::RequestBody,
            false => AuthType::BasicAuth,
        };
        let secret = secret.map(|secret| ClientSecret::new(secret.to_owned()));
        let client = Client::from_provider_metadata(known.metadata(), self.client_id.clone(), secret);
        Ok(client.set_redirect_uri(return_url).set_auth_type(way))
    }

    fn secret(&self) -> Result<Option<&Secret>, OpenIdUnusable> {
        self.client_secret.as_ref().map(Option::as_ref).map_err(OpenIdUnusable::clone)
    }

    fn provider(&self) -> Result<&Provider, OpenIdUnusable> {
        self.provider.as_ref().map_err(OpenIdUnusable::clone)
    }

    /// The provider's message about a refused secret may contain it.
    fn concealed(&self, error: OpenIdError) -> OpenIdError {
        match (error, self.secret()) {
            (OpenIdError::Refused(words), Ok(Some(secret))) => OpenIdError::Refused(secret.conceal(words)),
            (error, _) => error,
        }
    }
}

/// Calls `check` with the known keys, and with fresh ones if a signature is invalid.
async fn believed<T>(
    provider: &Provider,
    known: &mut Known,
    check: impl Fn(&Known) -> Result<T, OpenIdError>,
) -> Result<T, OpenIdError> {
    match check(known) {
        Err(error) if error.is_of_a_key() => {
            *known = provider.renewed(known).await?.ok_or(error)?;
            check(known)
        }
        checked => checked,
    }
}
