//! Stripe's events, of which four kinds matter here. Snapshot events contain their object in the version of the webhook endpoint, not in
//! ours, so few members are read. <https://docs.stripe.com/api/events/types> Thin events only name it.
//! <https://docs.stripe.com/event-destinations>

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use super::sessions::{Expandable, Session, checked_amount, checked_id};
use crate::payment::{Notice, NoticeReference, Told};
use crate::transport::printable;

const SNAPSHOT: &str = "event";
const THIN: &str = "v2.core.event";

/// The prefix of thin events about `v1` objects.
const FIRST_VERSION: &str = "v1.";

#[derive(Deserialize)]
struct Event<'a> {
    object: Option<String>,
    #[serde(rename = "type")]
    kind: String,
    #[serde(borrow)]
    data: Option<Data<'a>>,
    related_object: Option<RelatedObject>,
}

#[derive(Deserialize)]
struct RelatedObject {
    id: Option<String>,
}

#[derive(Deserialize)]
struct Data<'a> {
    #[serde(borrow)]
    object: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Reversal {
    id: String,
    payment_intent: Option<Expandable>,
    amount: i64,
    currency: String,
    status: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Concern {
    Completed,
    PaidLate,
    Refund,
    Dispute(Funds),
}

impl Concern {
    fn of(kind: &str) -> Option<Self> {
        Some(match kind {
            "checkout.session.completed" => Self::Completed,
            "checkout.session.async_payment_succeeded" => Self::PaidLate,
            "refund.created" | "refund.updated" | "refund.failed" | "charge.refund.updated" => Self::Refund,
            "charge.dispute.funds_withdrawn" => Self::Dispute(Funds::Withdrawn),
            "charge.dispute.funds_reinstated" => Self::Dispute(Funds::Reinstated),
            _ => return None,
        })
    }

    fn read(self, object: &RawValue) -> Result<Notice, String> {
        match self {
            Self::Completed => completed(read_object(object)?),
            Self::PaidLate => paid(read_object(object)?),
            Self::Refund => refund(read_object(object)?),
            Self::Dispute(funds) => dispute(read_object(object)?, funds),
        }
    }
}

/// Reads a verified event. Fails with what is wrong with it.
pub(super) fn read(body: &[u8]) -> Result<Told, String> {
    let event: Event<'_> = serde_json::from_slice(body).map_err(|error| printable(&error.to_string()))?;
    match event.object.as_deref() {
        Some(THIN) => read_thin(event),
        Some(SNAPSHOT) | None => {
            let Some(concern) = Concern::of(&event.kind) else { return Ok(Told::Notice(Notice::Nothing)) };
            let object = event.data.and_then(|data| data.object).ok_or("the event has no `data.object`")?;
            concern.read(object).map(Told::Notice)
        }
        Some(other) => Err(printable(&format!("an `object` that is no event: {other}"))),
    }
}

fn read_thin(event: Event<'_>) -> Result<Told, String> {
    let kind = event.kind.strip_prefix(FIRST_VERSION).filter(|kind| Concern::of(kind).is_some());
    let Some(kind) = kind else { return Ok(Told::Notice(Notice::Nothing)) };
    let id = event.related_object.and_then(|related| related.id);
    let id = checked_id(id.ok_or("the event has no `related_object.id`")?)?;
    Ok(Told::Reference(NoticeReference { kind: kind.to_owned(), id }))
}

/// The path, in Stripe's API, of the objects of this kind of thin event.
pub(super) fn path_of(kind: &str) -> Option<&'static str> {
    Some(match Concern::of(kind)? {
        Concern::Completed | Concern::PaidLate => "checkout/sessions",
        Concern::Refund => "refunds",
        Concern::Dispute(_) => "disputes",
    })
}

/// Reads the fetched object of a thin event of this kind.
pub(super) fn read_fetched(kind: &str, object: &RawValue) -> Result<Notice, String> {
    Concern::of(kind).map_or(Ok(Notice::Nothing), |concern| concern.read(object))
}

fn read_object<T: DeserializeOwned>(object: &RawValue) -> Result<T, String> {
    serde_json::from_str(object.get()).map_err(|error| printable(&error.to_string()))
}

/// A session is completed before a bank debit has succeeded; another event reports that.
fn completed(session: Session) -> Result<Notice, String> {
    if session.is_paid() { paid(session) } else { Ok(Notice::Nothing) }
}

fn paid(session: Session) -> Result<Notice, String> {
    Ok(session.into_receipt()?.map_or(Notice::Nothing, Notice::Paid))
}

fn refund(refund: Reversal) -> Result<Notice, String> {
    // Charges without a Checkout have no payment intent.
    let Some(payment) = refund.payment_intent else { return Ok(Notice::Nothing) };
    Ok(Notice::Refund {
        id: checked_id(refund.id)?,
        reference: payment.into_id()?,
        amount: checked_amount(refund.amount)?,
        currency: refund.currency,
        is_standing: !matches!(refund.status.as_deref(), Some("failed" | "canceled")),
    })
}

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
