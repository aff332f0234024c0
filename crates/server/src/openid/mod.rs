//! Who else knows people: signing in by OpenID Connect, with the authorization code flow and PKCE. What follows from that for a
//! user is not known here. <https://openid.net/specs/openid-connect-core-1_0.html>

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

use self::calls::Calls;
use self::claims::Trust;
use self::known::{Known, Provider};
use self::shapes::Client;
use crate::config::{OidcConfig, OutgoingConfig};
use crate::transport::printable;

/// An OpenID provider as configured. Nobody is asked before somebody wants to sign in.
pub struct OpenId {
    name: String,
    client_id: ClientId,
    client_secret: Result<Option<Secret>, OpenIdUnusable>,
    provider: Result<Provider, OpenIdUnusable>,
    trust: Trust,
    clock: SharedClock,
}

/// What a browser brings back from the provider beside the state.
#[derive(Debug, Clone, Default)]
pub struct Returned {
    /// By which the provider tells us who it is.
    pub code: Option<String>,
    /// Why it does not.
    pub error: Option<String>,
    pub error_description: Option<String>,
    /// Which provider sends it, as RFC 9207 has it.
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
    /// The provider of these settings, with the client's secret in the variable of this process's environment that they
    /// name. A secret that is missing is told by [`OpenId::check`] and by every use, not here.
    pub fn new(config: &OidcConfig, outgoing: &OutgoingConfig, clock: &SharedClock) -> Self {
        Self::with(config, outgoing, clock, |variable| std::env::var_os(variable))
    }

    /// The same with the variables handed in.
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

    /// Whether it can be used as configured. Asks nobody.
    ///
    /// # Errors
    /// What is missing, in words for the operator.
    pub fn check(&self) -> Result<(), OpenIdUnusable> {
        self.secret()?;
        self.provider()?;
        Ok(())
    }

    /// Whether the provider answers with what it has promised.
    ///
    /// # Errors
    /// Why it cannot be asked, or what is wrong with its answer.
    pub async fn discover(&self) -> Result<(), OpenIdError> {
        self.check()?;
        self.provider()?.ask().await.map(drop)
    }

    /// Where somebody's browser is sent to sign in there; it is sent back to `return_url`.
    ///
    /// # Errors
    /// Why nobody can sign in there now.
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

    /// Who signed in there: whom the provider names for what it gave the browser that has `secret`.
    ///
    /// # Errors
    /// Why the provider names nobody, or is not believed.
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

    /// What the provider says of a refused secret may repeat it.
    fn concealed(&self, error: OpenIdError) -> OpenIdError {
        match (error, self.secret()) {
            (OpenIdError::Refused(words), Ok(Some(secret))) => OpenIdError::Refused(secret.conceal(words)),
            (error, _) => error,
        }
    }
}

/// What `check` finds by the keys that are known, or by those of now where a signature does not hold.
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
