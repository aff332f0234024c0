//! Payment providers: checkout pages and notices. The effects on accounts are decided elsewhere.
//!
//! Payment providers only notify. A notification's signature is verified, the notification is translated into a few plain notices
//! (`crates/outgoing/src/payment/`), and applied under the provider's own id (`crates/app/src/payments/notices.rs`). Provider notifications
//! may be duplicated or reordered. Each is applied once, and reversals net out in either order. A notification may also never come:
//! `payments.check_at` says when a worker next asks the provider for an unpaid order. A node takes an order by moving that time on, so each
//! is asked for by one node; the more unpaid orders its account has, the further the time moves, so that no account fills the worker's
//! runs.

mod errors;
mod manual;
mod notices;
mod stripe;

use std::ffi::OsString;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use overnight_base::clock::SharedClock;
use overnight_config::{BillingConfig, OutgoingConfig, ProviderConfig};
use overnight_domain::ids::{AccountId, PaymentId};
use overnight_domain::money::Currency;

pub use errors::{NoticeRefused, PaymentError, PaymentUnusable};
pub use notices::{Notice, NoticeReference, Receipt, SessionState, Told};

use manual::Manual;
use stripe::Stripe;

/// A payment provider. Amounts are whole minor units of the currency, such as cents.
pub trait PaymentProvider: Send + Sync {
    /// Its name in the settings: `stripe` or `manual`.
    fn name(&self) -> &'static str;

    /// Whether the provider can be used as configured. Makes no call: a wrong key is found when it is used.
    fn check(&self) -> Result<(), PaymentUnusable>;

    /// Opens a page at which the order can be paid. The same order within a day gets the same page; a different order under the same id is
    /// refused. After [`PaymentError::Broken`] the caller creates a new order under a new id.
    fn open_checkout<'a>(&'a self, order: &'a Order) -> BoxFuture<'a, Result<Checkout, PaymentError>>;

    /// Reads a notice: the body as it was received, and its signature header. `now` is in milliseconds. Nothing of the body is parsed
    /// before the signature is verified.
    fn read_notice(&self, signature: Option<&[u8]>, body: &[u8], now: i64) -> Result<Told, NoticeRefused>;

    /// Fetches what a notice only refers to.
    fn fetch_notice<'a>(
        &'a self,
        reference: &'a NoticeReference,
    ) -> BoxFuture<'a, Result<Notice, PaymentError>>;

    /// The receipt of the provider's payment `reference`; `None` if it paid none of our orders, or not yet.
    fn find_receipt<'a>(&'a self, reference: &'a str)
    -> BoxFuture<'a, Result<Option<Receipt>, PaymentError>>;

    fn find_session<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<SessionState, PaymentError>>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// Our id, which the provider stores too.
    pub id: PaymentId,
    pub account: AccountId,
    /// In minor units; above 0.
    pub amount: i64,
    pub currency: Currency,
    /// What is bought, shown to the payer; not empty.
    pub description: String,
    /// The payer's browser is sent here after payment.
    pub return_url: String,
}

/// A page at which an order can be paid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    pub session: String,
    /// The payer's browser is sent here. Everyone who knows it can pay.
    pub url: String,
}

/// The provider that the settings name, with the keys in the environment variables that they name. If a key is missing,
/// [`PaymentProvider::check`] and every use that needs it fail, but not this call.
pub fn provider(
    billing: &BillingConfig,
    outgoing: &OutgoingConfig,
    clock: &SharedClock,
) -> Arc<dyn PaymentProvider> {
    provider_with(billing, outgoing, clock, |variable| std::env::var_os(variable))
}

/// The same, with injected variables.
pub fn provider_with(
    billing: &BillingConfig,
    outgoing: &OutgoingConfig,
    clock: &SharedClock,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Arc<dyn PaymentProvider> {
    match &billing.provider {
        ProviderConfig::Manual => Arc::new(Manual),
        ProviderConfig::Stripe(config) => Arc::new(Stripe::new(config, outgoing, clock, variable)),
    }
}
