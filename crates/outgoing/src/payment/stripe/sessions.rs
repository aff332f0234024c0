//! Checkout sessions, with only the members that are needed.

use overnight_domain::ids::PaymentId;
use serde::Deserialize;

use crate::payment::{Receipt, SessionState};

/// The maximum plausible amount, in minor units: Stripe takes no payment of more than twelve digits.
const AMOUNT_MAX: i64 = 999_999_999_999;

/// Bytes of Stripe's longest ids.
const ID_BYTES_MAX: usize = 255;

/// The metadata key of our order, in sessions and payments.
pub(super) const PAYMENT_KEY: &str = "overnight_payment";

/// A checkout session, perhaps of one of our orders.
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

/// An object, or only its id.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Expandable {
    Id(String),
    Object { id: String },
}

impl Expandable {
    pub(super) fn into_id(self) -> Result<String, String> {
        let (Self::Id(id) | Self::Object { id }) = self;
        checked_id(id)
    }
}

impl Session {
    pub(super) fn is_paid(&self) -> bool {
        self.payment_status.as_deref() == Some("paid")
    }

    /// The receipt of a paid session; `None` if the order is not one of ours.
    pub(super) fn into_receipt(self) -> Result<Option<Receipt>, String> {
        let Some(payment) = self.payment() else { return Ok(None) };
        let missing = |what| format!("the session of {payment} has no `{what}`");
        let reference = self.payment_intent.ok_or_else(|| missing("payment_intent"))?.into_id()?;
        let amount = checked_amount(self.amount_total.ok_or_else(|| missing("amount_total"))?)?;
        let currency = self.currency.ok_or_else(|| missing("currency"))?;
        Ok(Some(Receipt { payment, reference, amount, currency }))
    }

    /// A session that is paid but not ours counts as closed.
    pub(super) fn into_state(self) -> Result<SessionState, String> {
        match (self.is_paid(), self.status.as_deref()) {
            (true, _) => Ok(self.into_receipt()?.map_or(SessionState::Closed, SessionState::Paid)),
            (false, Some("expired")) => Ok(SessionState::Closed),
            (false, _) => Ok(SessionState::Open),
        }
    }

    /// Our order. The metadata must confirm the reference: a payer can choose the reference of a payment link's session, but never the
    /// metadata.
    fn payment(&self) -> Option<PaymentId> {
        let reference = self.client_reference_id.as_deref()?;
        let ours = self.metadata.as_ref()?.overnight_payment.as_deref()?;
        PaymentId::parse(reference).filter(|_| reference == ours)
    }
}

/// Refuses an implausible amount of minor units.
pub(super) fn checked_amount(amount: i64) -> Result<i64, String> {
    let fits = (0..=AMOUNT_MAX).contains(&amount);
    fits.then_some(amount).ok_or_else(|| format!("an amount of {amount}"))
}

pub(super) fn checked_id(id: String) -> Result<String, String> {
    let fits = (1..=ID_BYTES_MAX).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic());
    fits.then_some(id).ok_or_else(|| "a name that is none".to_owned())
}
