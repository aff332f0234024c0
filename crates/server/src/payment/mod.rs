//! Who takes payments: the page at which an order is paid, and what is told of it afterwards. What follows from that for
//! an account is not known here.
//!
//! Payment providers only notify. A notification's signature is verified, the notification is translated into a few plain notices
//! (`crates/server/src/payment/`), and applied under the provider's own id (`crates/server/src/app/payments/notices.rs`). Provider
//! notifications may be duplicated or reordered. Each is applied once, and reversals net out in either order. A notification may also
//! never come: `payments.check_at` says when a worker next asks the provider for an unpaid order. A node takes an order by moving
//! that time on, so each is asked for by one node; the time moves on by more, the more unpaid orders its account has, so that no
//! account fills the worker's runs.

mod errors;
mod manual;
mod notices;
mod stripe;

use std::ffi::OsString;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use overnight_base::clock::SharedClock;
use overnight_domain::ids::{AccountId, PaymentId};
use overnight_domain::money::Currency;

use crate::config::{BillingConfig, OutgoingConfig, ProviderConfig};

pub use errors::{NoticeRefused, PaymentError, PaymentUnusable};
pub use notices::{Notice, NoticeReference, Receipt, SessionState, Told};

use manual::Manual;
use stripe::Stripe;

/// Who takes payments. Amounts are whole minor units of the currency, such as cents.
pub trait PaymentProvider: Send + Sync {
    /// Its name in the settings: `stripe` or `manual`.
    fn name(&self) -> &'static str;

    /// Whether it can be used as configured. Asks nobody: a key that is wrong is found out when it is used.
    ///
    /// # Errors
    /// What is missing, in words for the operator.
    fn check(&self) -> Result<(), PaymentUnusable>;

    /// Opens a page at which the order can be paid. Asked again for the same order, word for word, within a day, it
    /// gives the same page; an order that differs under the same id is refused.
    ///
    /// # Errors
    /// Why there is no page. After [`PaymentError::Broken`] a new order is asked for, under a new id.
    fn open_checkout<'a>(&'a self, order: &'a Order) -> BoxFuture<'a, Result<Checkout, PaymentError>>;

    /// Reads what the provider tells: the body as it was received, and its signature header. `now` is in milliseconds.
    /// Nothing is believed, and nothing of the body is read, before the signature was found to be the provider's.
    ///
    /// # Errors
    /// Why it is not believed or not understood.
    fn read_notice(&self, signature: Option<&[u8]>, body: &[u8], now: i64) -> Result<Told, NoticeRefused>;

    /// Fetches what a notice only refers to.
    fn fetch_notice<'a>(
        &'a self,
        reference: &'a NoticeReference,
    ) -> BoxFuture<'a, Result<Notice, PaymentError>>;

    /// What the provider's payment `reference` paid; `None` where it paid none of our orders, or not yet.
    fn find_receipt<'a>(&'a self, reference: &'a str)
    -> BoxFuture<'a, Result<Option<Receipt>, PaymentError>>;

    /// What became of the page `session`.
    fn find_session<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<SessionState, PaymentError>>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// Under which it is known here, and to the provider.
    pub id: PaymentId,
    pub account: AccountId,
    /// How much, in minor units; above 0.
    pub amount: i64,
    pub currency: Currency,
    /// What is bought, as the payer reads it; not empty.
    pub description: String,
    /// Where the payer's browser is sent when it is paid.
    pub return_url: String,
}

/// A page at which an order can be paid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    pub session: String,
    /// Where the payer's browser is sent. Whoever knows it can pay.
    pub url: String,
}

/// The provider that the settings name, with the keys in the variables of this process's environment that they name.
/// A key that is missing is told by [`PaymentProvider::check`] and by every use that needs it, not here.
pub fn provider(
    billing: &BillingConfig,
    outgoing: &OutgoingConfig,
    clock: &SharedClock,
) -> Arc<dyn PaymentProvider> {
    provider_with(billing, outgoing, clock, |variable| std::env::var_os(variable))
}

/// The same with the variables handed in.
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
