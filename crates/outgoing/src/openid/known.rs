//! The provider's metadata and keys. They are fetched on first use and kept for an hour.

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

/// How long they are kept, in milliseconds.
const GOOD_MS: i64 = 3_600_000;

/// How long they are not fetched again after an invalid signature caused a fetch, in milliseconds: this bounds the calls that forged
/// signatures can cause.
const RENEWED_EVERY_MS: i64 = 10_000;

pub(super) struct Provider {
    issuer: IssuerUrl,
    calls: Calls,
    clock: SharedClock,
    said: Mutex<Option<(Known, i64)>>,
    /// The last fetch because of a signature. One sign-in fetches, and the others wait for its result.
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

    /// The metadata of the last hour, otherwise fetched. Concurrent callers each fetch: nobody waits for another.
    pub(super) async fn known(&self) -> Result<Known, OpenIdError> {
        let now = self.clock.now();
        match self.said().filter(|(_, asked_at)| (*asked_at..*asked_at + GOOD_MS).contains(&now)) {
            Some((known, _)) => Ok(known),
            None => self.ask().await,
        }
    }

    /// The current metadata, after a signature that `known` did not verify: providers rotate keys, and some keep their names. `None` if it
    /// was fetched for that reason just now.
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

    /// Browsers are never sent to an endpoint that is less secure than the issuer. The transport checks our own calls.
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

    pub(super) fn user_info(&self) -> Option<&Url> {
        self.0.userinfo_endpoint().map(|endpoint| endpoint.url())
    }

    /// The code that a browser brings back, if this provider sent it. <https://www.rfc-editor.org/rfc/rfc9207>
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

    /// Whether the client's secret is sent in the body of a call, not in its header as most providers prefer. A secret that
    /// `is_written_in_one_way` is the same in both; others are escaped in the header, which not every provider decodes, so they are sent in
    /// the body if the provider allows it.
    pub(super) fn wants_secret_in_body(&self, is_written_in_one_way: bool) -> bool {
        let takes =
            |way| self.0.token_endpoint_auth_methods_supported().is_some_and(|ways| ways.contains(&way));
        let may_go_in_head = takes(CoreClientAuthMethod::ClientSecretBasic);
        takes(CoreClientAuthMethod::ClientSecretPost) && !(may_go_in_head && is_written_in_one_way)
    }
}
