//! What Stripe tells: events, of which four kinds concern us. They come in the version of the webhook endpoint, not in
//! ours, so little is asked of their shape. <https://docs.stripe.com/api/events/types>

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use super::sessions::{Expandable, Session, checked_amount, checked_id};
use crate::payment::Notice;
use crate::transport::printable;

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(borrow)]
    data: Option<Data<'a>>,
}

#[derive(Deserialize)]
struct Data<'a> {
    #[serde(borrow)]
    object: Option<&'a RawValue>,
}

/// A refund, or a dispute.
#[derive(Deserialize)]
struct Reversal {
    id: String,
    payment_intent: Option<Expandable>,
    amount: i64,
    currency: String,
    status: Option<String>,
}

/// Reads an event whose signature was verified; otherwise what is wrong with it.
pub(super) fn read(body: &[u8]) -> Result<Notice, String> {
    let event: Event<'_> = serde_json::from_slice(body).map_err(|error| printable(&error.to_string()))?;
    let object = event.data.and_then(|data| data.object);
    match event.kind.as_str() {
        "checkout.session.completed" => completed(read_object(object)?),
        "checkout.session.async_payment_succeeded" => paid(read_object(object)?),
        "refund.created" | "refund.updated" | "refund.failed" | "charge.refund.updated" => {
            refund(read_object(object)?)
        }
        "charge.dispute.funds_withdrawn" => dispute(read_object(object)?, Funds::Withdrawn),
        "charge.dispute.funds_reinstated" => dispute(read_object(object)?, Funds::Reinstated),
        _ => Ok(Notice::Nothing),
    }
}

fn read_object<T: DeserializeOwned>(object: Option<&RawValue>) -> Result<T, String> {
    let object = object.ok_or("the event has no `data.object`")?;
    serde_json::from_str(object.get()).map_err(|error| printable(&error.to_string()))
}

/// A session is completed before a bank's debit has succeeded; another event tells of that.
fn completed(session: Session) -> Result<Notice, String> {
    if session.is_paid() { paid(session) } else { Ok(Notice::Nothing) }
}

fn paid(session: Session) -> Result<Notice, String> {
    Ok(session.into_receipt()?.map_or(Notice::Nothing, Notice::Paid))
}

fn refund(refund: Reversal) -> Result<Notice, String> {
    // Charges that no Checkout made have no payment intent.
    let Some(payment) = refund.payment_intent else { return Ok(Notice::Nothing) };
    Ok(Notice::Refund {
        id: checked_id(refund.id)?,
        reference: payment.into_id()?,
        amount: checked_amount(refund.amount)?,
        currency: refund.currency,
        is_standing: !matches!(refund.status.as_deref(), Some("failed" | "canceled")),
    })
}

/// What a dispute did to what was paid.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Funds {
    Withdrawn,
    Reinstated,
}

fn dispute(dispute: Reversal, funds: Funds) -> Result<Notice, String> {
    let Some(payment) = dispute.payment_intent else { return Ok(Notice::Nothing) };
    Ok(Notice::Dispute {
        id: checked_id(dispute.id)?,
        reference: payment.into_id()?,
        amount: checked_amount(dispute.amount)?,
        currency: dispute.currency,
        is_withdrawn: funds == Funds::Withdrawn,
    })
}

#[cfg(test)]
mod tests;
