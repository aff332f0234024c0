//! Checkout sessions, as Stripe describes them; what is not needed here is not read.

use overnight_domain::ids::PaymentId;
use serde::Deserialize;

use crate::payment::{Receipt, SessionState};

/// The most minor units that are believed; Stripe takes no payment of more than twelve digits.
const AMOUNT_MAX: i64 = 999_999_999_999;

/// The longest name that Stripe gives to anything, in bytes.
const ID_BYTES_MAX: usize = 255;

/// The metadata that names our order, in sessions and payments.
pub(super) const PAYMENT_KEY: &str = "overnight_payment";

/// A page at which something is paid, perhaps an order of ours.
#[derive(Debug, Deserialize)]
pub(super) struct Session {
    pub(super) id: String,
    pub(super) url: Option<String>,
    client_reference_id: Option<String>,
    metadata: Option<Metadata>,
    status: Option<String>,
    payment_status: Option<String>,
    payment_intent: Option<Expandable>,
    amount_total: Option<i64>,
    currency: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Metadata {
    overnight_payment: Option<String>,
}

/// Something that Stripe names, or puts in the place of its name.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Expandable {
    Id(String),
    Object { id: String },
}

impl Expandable {
    /// The name, if it is one that can be kept.
    pub(super) fn into_id(self) -> Result<String, String> {
        let (Self::Id(id) | Self::Object { id }) = self;
        checked_id(id)
    }
}

impl Session {
    /// Whether Stripe says that it is paid.
    pub(super) fn is_paid(&self) -> bool {
        self.payment_status.as_deref() == Some("paid")
    }

    /// The receipt that a paid session is; `None` where the order is none of ours.
    pub(super) fn into_receipt(self) -> Result<Option<Receipt>, String> {
        let Some(payment) = self.payment() else { return Ok(None) };
        let missing = |what| format!("the session of {payment} has no `{what}`");
        let reference = self.payment_intent.ok_or_else(|| missing("payment_intent"))?.into_id()?;
        let amount = checked_amount(self.amount_total.ok_or_else(|| missing("amount_total"))?)?;
        let currency = self.currency.ok_or_else(|| missing("currency"))?;
        Ok(Some(Receipt { payment, reference, amount, currency }))
    }

    /// What became of it. One that is paid and none of ours has nothing more to tell.
    pub(super) fn into_state(self) -> Result<SessionState, String> {
        match (self.is_paid(), self.status.as_deref()) {
            (true, _) => Ok(self.into_receipt()?.map_or(SessionState::Closed, SessionState::Paid)),
            (false, Some("expired")) => Ok(SessionState::Closed),
            (false, _) => Ok(SessionState::Open),
        }
    }

    /// Our order. A payer can choose the reference of a payment link's session, and never the metadata.
    fn payment(&self) -> Option<PaymentId> {
        let reference = self.client_reference_id.as_deref()?;
        let ours = self.metadata.as_ref()?.overnight_payment.as_deref()?;
        PaymentId::parse(reference).filter(|_| reference == ours)
    }
}

/// An amount that can be true, in minor units.
pub(super) fn checked_amount(amount: i64) -> Result<i64, String> {
    let fits = (0..=AMOUNT_MAX).contains(&amount);
    fits.then_some(amount).ok_or_else(|| format!("an amount of {amount}"))
}

pub(super) fn checked_id(id: String) -> Result<String, String> {
    let fits = (1..=ID_BYTES_MAX).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic());
    fits.then_some(id).ok_or_else(|| "a name that is none".to_owned())
}
