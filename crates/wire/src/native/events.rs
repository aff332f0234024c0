//! Events, told by webhook: what is sent, and how it is signed.

use overnight_domain::webhooks;
use serde::{Deserialize, Serialize};

use super::batches::{self, BatchSummary};
use super::requests::{self, RequestSummary};
use super::states;
use crate::json::{push, push_id, push_key, push_time};

/// What happened.
pub use overnight_domain::webhooks::EventKind;
/// The signatures of what is sent.
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

/// Appends the event: the body of its webhook.
pub fn write_event(event: &webhooks::Event, out: &mut Vec<u8>) {
    push("{\"type\":\"", out);
    push(event.kind.as_str(), out);
    push("\",\"timestamp\":", out);
    push_time(event.created_at, out);
    push_key("id", out);
    push_id(event.id, out);
    push_key("created_at", out);
    push_time(event.created_at, out);
    push(",\"data\":", out);
    match &event.subject {
        webhooks::Subject::Request(request) => requests::write_status(request, out),
        webhooks::Subject::Batch(batch) => batches::write_status(batch, out),
        webhooks::Subject::Account(account) => {
            push("{\"account\":\"", out);
            push(&account.to_string(), out);
            push("\"}", out);
        }
        webhooks::Subject::Credits(credits) => write_credits(credits, out),
    }
    out.push(b'}');
}

fn write_credits(credits: &webhooks::AccountCredits, out: &mut Vec<u8>) {
    push("{\"account\":\"", out);
    push(&credits.account.to_string(), out);
    let amounts = [
        ("threshold", credits.threshold),
        ("balance", credits.balance),
        ("held", credits.held),
        ("available", credits.available()),
    ];
    for (name, amount) in amounts {
        push("\",\"", out);
        push(name, out);
        push("\":\"", out);
        push(&amount.to_string(), out);
    }
    push("\"}", out);
}
