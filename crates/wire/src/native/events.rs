//! Webhook events: their bodies and signatures.

use overnight_domain::webhooks;
use serde::{Deserialize, Serialize};

use super::batches::{self, BatchSummary};
use super::requests::{self, RequestSummary};
use super::states;
use crate::json::{By, Second, Value as _, object};

/// The kind of an event.
pub use overnight_domain::webhooks::EventKind;
/// Webhook signatures.
pub use overnight_domain::webhooks::signature;

/// The end of a request or of a batch, as its webhook is told of it, low credits of an account, or a test of a receiver. No prompt and no completion
/// is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(example = json!({
    "type": "batch.completed",
    "timestamp": 1751500020,
    "id": "evt_01jz8m4c2he7vsn9q3r5x1b8kb",
    "created_at": 1751500020,
    "data": {
        "id": "batch_01jz8m4c2he7vsn9q3r5x1b8ka",
        "status": "completed",
        "requests_counts": {
            "total": 2, "completed": 2, "failed": 0, "in_progress": 0, "registered": 0, "cancelled": 0
        },
        "created_at": 1751500010,
        "in_progress_at": 1751500012,
        "completed_at": 1751500020,
        "cancelled_at": null
    }
})))]
pub struct Event {
    /// What happened.
    #[serde(rename = "type", with = "states::event")]
    #[cfg_attr(feature = "openapi", schema(schema_with = super::schemas::event_kind))]
    pub kind: EventKind,
    /// When it happened, in Unix seconds.
    pub timestamp: i64,
    /// Its identifier, `evt_…`: that of `webhook-id`. Absent of events of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub id: Option<String>,
    /// The same as `timestamp`, as OpenAI's clients name it. Absent of events of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub created_at: Option<i64>,
    /// What it happened to, as it was then.
    pub data: EventData,
}

/// What an event is about: its status record, the credits of an account, or whose receiver is tested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum EventData {
    /// A request, of the events `request.…`.
    Request(RequestSummary),
    /// A batch, of the events `batch.…`.
    Batch(BatchSummary),
    /// The credits of an account, of `account.low_credits`.
    Credits(AccountCredits),
    /// A test, `webhook.test`: nothing happened.
    Test(Tested),
}

/// The credits of an account when less than `threshold` was available. Amounts are decimal numbers of credits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AccountCredits {
    /// The account, `acct_…`.
    pub account: String,
    /// What was set: the account is told once less than this is available.
    #[cfg_attr(feature = "openapi", schema(pattern = r"^\d+(\.\d+)?$"))]
    pub threshold: String,
    /// The sum of everything posted.
    #[cfg_attr(feature = "openapi", schema(pattern = r"^-?\d+(\.\d+)?$"))]
    pub balance: String,
    /// What is set aside for requests that have not ended.
    #[cfg_attr(feature = "openapi", schema(pattern = r"^\d+(\.\d+)?$"))]
    pub held: String,
    /// `balance` less `held`: what new requests may hold.
    #[cfg_attr(feature = "openapi", schema(pattern = r"^-?\d+(\.\d+)?$"))]
    pub available: String,
}

/// Whose receiver is tested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Tested {
    /// The account, `acct_…`.
    pub account: String,
}

/// Appends the event as the body of its webhook.
pub fn write_event(event: &webhooks::Event, out: &mut Vec<u8>) {
    object! {
        "type": event.kind.as_str(),
        "timestamp": Second(event.created_at),
        "id": event.id,
        "created_at": Second(event.created_at),
        "data": By(|out: &mut Vec<u8>| write_subject(&event.subject, out)),
    }
    .append(out);
}

fn write_subject(subject: &webhooks::Subject, out: &mut Vec<u8>) {
    match subject {
        webhooks::Subject::Request(request) => requests::write_status(request, out),
        webhooks::Subject::Batch(batch) => batches::write_status(batch, out),
        webhooks::Subject::Account(account) => object! { "account": account }.append(out),
        webhooks::Subject::Credits(credits) => object! {
            "account": credits.account,
            "threshold": credits.threshold.to_string(),
            "balance": credits.balance.to_string(),
            "held": credits.held.to_string(),
            "available": credits.available().to_string(),
        }
        .append(out),
    }
}
