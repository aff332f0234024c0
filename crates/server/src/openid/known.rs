//! What the provider says of itself: where it is called, and its keys. Asked for when it is first needed, and good for an hour.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use openidconnect::core::{CoreClient, CoreClientAuthMethod, CoreProviderMetadata};
use openidconnect::url::Url;
use openidconnect::{EndpointMaybeSet, EndpointNotSet, EndpointSet, IssuerUrl};

use super::calls::Calls;
use super::{OpenIdError, OpenIdUnusable};
use crate::clock::SharedClock;

/// How long what was said is believed, in milliseconds.
const GOOD_MS: i64 = 3_600_000;

/// We, as the provider knows us.
pub(super) type Client = CoreClient<
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

/// The provider, and what it last said of itself.
pub(super) struct Provider {
    issuer: IssuerUrl,
    calls: Calls,
    clock: SharedClock,
    said: Mutex<Option<(Known, i64)>>,
}

/// What it said; clones share it.
#[derive(Clone)]
pub(super) struct Known(Arc<CoreProviderMetadata>);

impl Provider {
    pub(super) fn new(issuer: &str, calls: Calls, clock: &SharedClock) -> Result<Self, OpenIdUnusable> {
        let issuer =
            IssuerUrl::new(issuer.to_owned()).map_err(|error| OpenIdUnusable::Issuer(error.to_string()))?;
        Ok(Self { issuer, calls, clock: clock.clone(), said: Mutex::new(None) })
    }

    pub(super) const fn calls(&self) -> &Calls {
        &self.calls
    }

    /// What it said within the hour; it is asked where it said nothing. Who comes meanwhile asks too: nobody waits for another.
    pub(super) async fn known(&self) -> Result<Known, OpenIdError> {
        let now = self.clock.now();
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match said.filter(|(_, asked_at)| (*asked_at..*asked_at + GOOD_MS).contains(&now)) {
            Some((known, _)) => Ok(known),
            None => self.ask().await,
        }
    }

    /// Asks it.
    pub(super) fn ask(&self) -> BoxFuture<'_, Result<Known, OpenIdError>> {
        async move {
            let now = self.clock.now();
            let metadata = CoreProviderMetadata::discover_async(self.issuer.clone(), &self.calls).await?;
            self.check(&metadata)?;
            let known = Known(Arc::new(metadata));
            *self.said.lock().unwrap_or_else(PoisonError::into_inner) = Some((known.clone(), now));
            Ok(known)
        }
        .boxed()
    }

    /// Whoever signs in is sent nowhere that is less safe than the issuer. Where we call, the transport sees to it.
    fn check(&self, metadata: &CoreProviderMetadata) -> Result<(), OpenIdError> {
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
    pub(super) fn metadata(&self) -> CoreProviderMetadata {
        CoreProviderMetadata::clone(&self.0)
    }

    /// Whether it can be asked more of somebody than stands in the ID token.
    pub(super) fn has_user_info(&self) -> bool {
        self.0.userinfo_endpoint().is_some()
    }

    /// Whether it wants the client's secret in the body of a call, and not in its head as most do.
    pub(super) fn wants_secret_in_body(&self) -> bool {
        let takes =
            |way| self.0.token_endpoint_auth_methods_supported().is_some_and(|ways| ways.contains(&way));
        takes(CoreClientAuthMethod::ClientSecretPost) && !takes(CoreClientAuthMethod::ClientSecretBasic)
    }
}
