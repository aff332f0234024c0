//! What the provider says of itself: where it is called, and its keys. Asked for when it is first needed, and good for an hour.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use openidconnect::core::CoreClientAuthMethod;
use openidconnect::url::Url;
use openidconnect::{ClaimsVerificationError, IssuerUrl};
use overnight_base::clock::SharedClock;

use super::calls::Calls;
use super::shapes::{Keys, Metadata};
use super::{OpenIdError, OpenIdUnusable, Returned};

/// How long what was said is believed, in milliseconds.
const GOOD_MS: i64 = 3_600_000;

/// How long the provider is not asked again after a signature that did not hold made us ask, in milliseconds: whoever can bring
/// about such signatures has it asked no more often.
const RENEWED_EVERY_MS: i64 = 10_000;

/// The provider, and what it last said of itself.
pub(super) struct Provider {
    issuer: IssuerUrl,
    calls: Calls,
    clock: SharedClock,
    said: Mutex<Option<(Known, i64)>>,
    /// When it was last asked because of a signature. One sign-in asks, and the others wait for what it learns.
    renewed_at: tokio::sync::Mutex<Option<i64>>,
}

#[derive(Clone)]
pub(super) struct Known(Arc<Metadata>);

impl Provider {
    pub(super) fn new(issuer: &str, calls: Calls, clock: &SharedClock) -> Result<Self, OpenIdUnusable> {
        let issuer =
            IssuerUrl::new(issuer.to_owned()).map_err(|error| OpenIdUnusable::Issuer(error.to_string()))?;
        Ok(Self {
            issuer,
            calls,
            clock: clock.clone(),
            said: Mutex::new(None),
            renewed_at: tokio::sync::Mutex::new(None),
        })
    }

    pub(super) const fn calls(&self) -> &Calls {
        &self.calls
    }

    /// What it said within the hour; it is asked where it said nothing. Who comes meanwhile asks too: nobody waits for another.
    pub(super) async fn known(&self) -> Result<Known, OpenIdError> {
        let now = self.clock.now();
        match self.said().filter(|(_, asked_at)| (*asked_at..*asked_at + GOOD_MS).contains(&now)) {
            Some((known, _)) => Ok(known),
            None => self.ask().await,
        }
    }

    /// What it says now, where a signature did not hold by what is `known`: providers change their keys, and some keep the
    /// names. `None` where it was asked for such a reason just now.
    pub(super) async fn renewed(&self, known: &Known) -> Result<Option<Known>, OpenIdError> {
        let mut renewed_at = self.renewed_at.lock().await;
        if let Some((newer, _)) = self.said().filter(|(said, _)| !Arc::ptr_eq(&said.0, &known.0)) {
            return Ok(Some(newer));
        }
        let now = self.clock.now();
        if renewed_at.is_some_and(|at| (at..at + RENEWED_EVERY_MS).contains(&now)) {
            return Ok(None);
        }
        *renewed_at = Some(now);
        self.ask().await.map(Some)
    }

    fn said(&self) -> Option<(Known, i64)> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn ask(&self) -> BoxFuture<'_, Result<Known, OpenIdError>> {
        async move {
            let now = self.clock.now();
            let metadata = Metadata::discover_async(self.issuer.clone(), &self.calls).await?;
            self.check(&metadata)?;
            let known = Known(Arc::new(metadata));
            *self.said.lock().unwrap_or_else(PoisonError::into_inner) = Some((known.clone(), now));
            Ok(known)
        }
        .boxed()
    }

    /// Whoever signs in is sent nowhere that is less safe than the issuer. Where we call, the transport sees to it.
    fn check(&self, metadata: &Metadata) -> Result<(), OpenIdError> {
        let endpoint: &Url = metadata.authorization_endpoint().url();
        if endpoint.scheme() == self.issuer.url().scheme() {
            return Ok(());
        }
        Err(OpenIdError::NotUnderstood(
            "its authorization endpoint is not reached as its issuer is".to_owned(),
        ))
    }
}

impl Known {
    pub(super) fn metadata(&self) -> Metadata {
        Metadata::clone(&self.0)
    }

    pub(super) fn issuer(&self) -> &IssuerUrl {
        self.0.issuer()
    }

    pub(super) fn keys(&self) -> &Keys {
        self.0.jwks()
    }

    /// Where it can be asked more of somebody than stands in the ID token.
    pub(super) fn user_info(&self) -> Option<&Url> {
        self.0.userinfo_endpoint().map(|endpoint| endpoint.url())
    }

    /// The code that a browser brings back, if it comes from there. <https://www.rfc-editor.org/rfc/rfc9207>
    pub(super) fn code<'r>(&self, returned: &'r Returned) -> Result<&'r str, OpenIdError> {
        let unbelieved = |what: &str| {
            Err(OpenIdError::Unbelieved(ClaimsVerificationError::InvalidIssuer(what.to_owned())))
        };
        match &returned.issuer {
            Some(issuer) if *issuer != **self.issuer() => {
                return unbelieved("the browser comes back from another provider");
            }
            None if self.0.additional_metadata().authorization_response_iss_parameter_supported => {
                return unbelieved("the browser comes back without the provider's name, which it promises");
            }
            _ => {}
        }
        returned.code.as_deref().filter(|_| returned.error.is_none()).ok_or_else(|| returned.declined())
    }

    /// Whether the client's secret goes in the body of a call, and not in its head as most providers want it. A secret that
    /// `is_written_in_one_way` is the same in both; the others are escaped in the head, which not every provider undoes, so
    /// they go in the body wherever they may.
    pub(super) fn wants_secret_in_body(&self, is_written_in_one_way: bool) -> bool {
        let takes =
            |way| self.0.token_endpoint_auth_methods_supported().is_some_and(|ways| ways.contains(&way));
        let may_go_in_head = takes(CoreClientAuthMethod::ClientSecretBasic);
        takes(CoreClientAuthMethod::ClientSecretPost) && !(may_go_in_head && is_written_in_one_way)
    }
}
