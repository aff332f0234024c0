//! Stripe Checkout, over a small client of our own with a pinned version of Stripe's API.
//! <https://docs.stripe.com/api/checkout/sessions>

mod client;
mod events;
mod refusal;
mod sessions;
mod signature;

use std::ffi::OsString;

use client::Client;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use overnight_base::clock::SharedClock;
use overnight_base::secrets::Secret;
use overnight_config::{OutgoingConfig, StripeConfig};

use super::{
    Checkout, Notice, NoticeReference, NoticeRefused, Order, PaymentError, PaymentProvider, PaymentUnusable,
    Receipt, SessionState, Told,
};

/// Each of the two keys is required only by its own uses.
pub(super) struct Stripe {
    client: Result<Client, PaymentUnusable>,
    signing_secret: Result<Secret, PaymentUnusable>,
}

impl Stripe {
    /// `variable` returns the keys by the names in the settings.
    pub(super) fn new(
        config: &StripeConfig,
        outgoing: &OutgoingConfig,
        clock: &SharedClock,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Self {
        let secret = |name: &str, what, begins_with: &[&str]| {
            let read = Secret::read(variable(name));
            let fits = |secret: &Secret| begins_with.iter().any(|prefix| secret.begins_with(prefix));
            let read = read.and_then(|secret| match fits(&secret) {
                true => Ok(secret),
                false => Err("holds something else: Stripe's begin with sk_ or rk_, and whsec_"),
            });
            read.map_err(|reason| PaymentUnusable::Secret { variable: name.to_owned(), what, reason })
        };
        Self {
            client: secret(&config.secret_key_env, "Stripe's secret key", &["sk_", "rk_"])
                .and_then(|key| Client::new(&config.base_url, key, outgoing, clock)),
            signing_secret: secret(
                &config.webhook_secret_env,
                "the signing secret of Stripe's webhook endpoint",
                &["whsec_"],
            ),
        }
    }

    fn client(&self) -> Result<&Client, PaymentUnusable> {
        self.client.as_ref().map_err(PaymentUnusable::clone)
    }

    fn signing_secret(&self) -> Result<&Secret, PaymentUnusable> {
        self.signing_secret.as_ref().map_err(PaymentUnusable::clone)
    }
}

impl PaymentProvider for Stripe {
    fn name(&self) -> &'static str {
        "stripe"
    }

    fn check(&self) -> Result<(), PaymentUnusable> {
        self.client()?;
        self.signing_secret()?;
        Ok(())
    }

    fn open_checkout<'a>(&'a self, order: &'a Order) -> BoxFuture<'a, Result<Checkout, PaymentError>> {
        async move { self.client()?.open_checkout(order).await }.boxed()
    }

    fn read_notice(&self, signature: Option<&[u8]>, body: &[u8], now: i64) -> Result<Told, NoticeRefused> {
        signature::verify(signature, body, self.signing_secret()?, now)?;
        events::read(body).map_err(NoticeRefused::Malformed)
    }

    fn fetch_notice<'a>(
        &'a self,
        reference: &'a NoticeReference,
    ) -> BoxFuture<'a, Result<Notice, PaymentError>> {
        async move { self.client()?.fetch_notice(reference).await }.boxed()
    }

    fn find_receipt<'a>(
        &'a self,
        reference: &'a str,
    ) -> BoxFuture<'a, Result<Option<Receipt>, PaymentError>> {
        async move { self.client()?.find_receipt(reference).await }.boxed()
    }

    fn find_session<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<SessionState, PaymentError>> {
        async move { self.client()?.find_session(session).await }.boxed()
    }
}
