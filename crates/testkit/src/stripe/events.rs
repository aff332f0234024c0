//! Events and their objects, in the forms of Stripe's documents. <https://docs.stripe.com/api/events/types>

use serde_json::{Value, json};

/// The time of every object, in seconds. The stand-in has no clock, and the service may not rely on these times.
pub(super) const CREATED: i64 = 1_790_000_000;

pub(super) fn body(id: &str, kind: &str, object: &Value) -> Vec<u8> {
    let event = json!({
        "id": id, "object": "event", "api_version": "2026-10-28.endive", "created": CREATED,
        "data": {"object": object}, "livemode": false, "pending_webhooks": 1,
        "request": {"id": null, "idempotency_key": null}, "type": kind,
    });
    // Stripe indents its JSON, so a receiver that signs a re-encoded body fails.
    let indented = serde_json::to_vec_pretty(&event);
    indented.unwrap_or_default()
}

/// The thin form of an event, which names its object. <https://docs.stripe.com/event-destinations>
///
/// Panics if `body` is not an event.
pub fn thin(body: &[u8]) -> Vec<u8> {
    let event: Value = serde_json::from_slice(body).expect("an event of this module");
    let object = &event["data"]["object"];
    let kind = object["object"].as_str().unwrap_or_default();
    let folder = match kind {
        "checkout.session" => "checkout/sessions".to_owned(),
        kind => format!("{kind}s"),
    };
    let id = object["id"].as_str().unwrap_or_default();
    let thin = json!({
        "id": event["id"], "object": "v2.core.event", "type": format!("v1.{}", event["type"].as_str().unwrap_or_default()),
        "created": "2026-09-21T14:13:20.000Z", "context": null, "livemode": false, "reason": null,
        "related_object": {"id": id, "type": kind, "url": format!("/v1/{folder}/{id}")},
    });
    serde_json::to_vec(&thin).unwrap_or_default()
}

pub(super) fn refund(id: &str, intent: &str, amount: i64, currency: &str) -> Value {
    json!({
        "id": id, "object": "refund", "amount": amount, "balance_transaction": "txn_1", "charge": charge(intent),
        "created": CREATED, "currency": currency,
        "destination_details": {"card": {"reference_status": "pending", "type": "refund"}, "type": "card"},
        "metadata": {}, "payment_intent": intent, "reason": null, "receipt_number": null,
        "source_transfer_reversal": null, "status": "succeeded", "transfer_reversal": null,
    })
}

/// The charge of a payment after a refund, without the refund's name.
pub(super) fn refunded_charge(intent: &str, amount: i64, currency: &str) -> Value {
    json!({
        "id": charge(intent), "object": "charge", "amount_refunded": amount, "created": CREATED,
        "currency": currency, "payment_intent": intent, "refunded": false, "status": "succeeded",
    })
}

pub(super) fn dispute(id: &str, intent: &str, amount: i64, currency: &str) -> Value {
    json!({
        "id": id, "object": "dispute", "amount": amount, "balance_transactions": [], "charge": charge(intent),
        "created": CREATED, "currency": currency, "enhanced_eligibility_types": [], "evidence": {},
        "evidence_details": {"due_by": CREATED + 1_000_000, "has_evidence": false, "past_due": false},
        "is_charge_refundable": false, "livemode": false, "metadata": {}, "payment_intent": intent,
        "reason": "fraudulent", "status": "needs_response",
    })
}

fn charge(intent: &str) -> String {
    intent.replacen("pi_", "ch_", 1)
}
