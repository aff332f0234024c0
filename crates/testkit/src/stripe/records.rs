//! The stand-in's records: sessions, payments, refunds, disputes, and the answers of idempotency keys.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::form::{self, Fields};
use super::{Happening, Trouble, events};

pub(super) type Answer = (StatusCode, Value);

/// Objects are kept in the form that Stripe shows.
#[derive(Debug, Default)]
pub(super) struct Records {
    pub(super) trouble: Option<Trouble>,
    pub(super) sessions: BTreeMap<String, Value>,
    intents: BTreeMap<String, String>,
    refunds: BTreeMap<String, Value>,
    disputes: BTreeMap<String, Value>,
    answers: BTreeMap<String, (Fields, Answer)>,
    named_count: u64,
    /// How often sessions were requested by name.
    pub(super) questions: u64,
}

/// An answer or a call in progress under an idempotency key.
pub(super) enum Kept {
    Nothing,
    Same(Answer),
    Other,
}

impl Records {
    fn name(&mut self, prefix: &str) -> String {
        self.named_count += 1;
        format!("{prefix}_{:024}", self.named_count)
    }

    pub(super) fn kept(&self, key: &str, fields: &Fields) -> Kept {
        match self.answers.get(key) {
            None => Kept::Nothing,
            Some((first, answer)) if first == fields => Kept::Same(answer.clone()),
            Some(_) => Kept::Other,
        }
    }

    pub(super) fn keep(&mut self, key: &str, fields: Fields, answer: Answer) {
        self.answers.insert(key.to_owned(), (fields, answer));
    }

    pub(super) fn create(&mut self, fields: &Fields) -> Value {
        let id = self.name("cs_test");
        let amount = form::unit_amount(fields);
        let session = json!({
            "id": id, "object": "checkout.session",
            "adaptive_pricing": {"enabled": fields.get("adaptive_pricing[enabled]").is_some_and(|is| is == "true")},
            "amount_subtotal": amount, "amount_total": amount,
            "automatic_tax": {"enabled": false, "liability": null, "status": null},
            "cancel_url": null, "client_reference_id": fields.get("client_reference_id"),
            "created": events::CREATED, "currency": fields[form::CURRENCY],
            "customer": null, "customer_details": null, "expires_at": events::CREATED + 86_400,
            "livemode": false, "metadata": form::metadata(fields, "metadata"), "mode": "payment",
            "payment_intent": null, "payment_method_types": ["card"], "payment_status": "unpaid",
            "presentment_details": null, "status": "open", "success_url": fields["success_url"],
            "ui_mode": "hosted_page", "url": format!("https://checkout.stripe.com/c/pay/{id}"),
        });
        self.sessions.insert(id, session.clone());
        session
    }

    pub(super) fn object(&mut self, kind: &str, id: &str) -> Option<&Value> {
        self.questions += u64::from(kind == "checkout.session");
        match kind {
            "refund" => self.refunds.get(id),
            "dispute" => self.disputes.get(id),
            _ => self.sessions.get(id),
        }
    }

    /// The sessions that made a payment; `None` if there is no such payment.
    pub(super) fn sessions_of(&self, intent: &str) -> Option<Vec<&Value>> {
        self.intents.get(intent)?;
        Some(self.sessions.values().filter(|session| session["payment_intent"] == intent).collect())
    }

    pub(super) fn pay(&mut self, session: &str) -> Happening {
        let intent = self.complete(session);
        let event = self.settle(session, "checkout.session.completed");
        Happening { id: intent, events: vec![event] }
    }

    pub(super) fn pay_late(&mut self, session: &str) -> Happening {
        let intent = self.complete(session);
        let completed =
            events::body(&self.name("evt"), "checkout.session.completed", &self.sessions[session]);
        let succeeded = self.settle(session, "checkout.session.async_payment_succeeded");
        Happening { id: intent, events: vec![completed, succeeded] }
    }

    pub(super) fn expire(&mut self, session: &str) {
        let session = self.sessions.get_mut(session).expect("a session that was made");
        session["status"] = json!("expired");
        session["url"] = Value::Null;
    }

    /// The payer has completed the page.
    fn complete(&mut self, session: &str) -> String {
        let intent = self.name("pi");
        let session = self.sessions.get_mut(session).expect("a session that was made");
        assert_eq!(session["status"], "open", "{session}");
        session["status"] = json!("complete");
        session["payment_intent"] = json!(intent);
        session["url"] = Value::Null;
        let currency = session["currency"].as_str().unwrap_or_default().to_owned();
        self.intents.insert(intent.clone(), currency);
        intent
    }

    fn settle(&mut self, session: &str, kind: &str) -> Vec<u8> {
        let event = self.name("evt");
        let session = self.sessions.get_mut(session).expect("a session that was made");
        session["payment_status"] = json!("paid");
        events::body(&event, kind, session)
    }

    pub(super) fn pay_elsewhere(&mut self) -> String {
        let intent = self.name("pi");
        self.intents.insert(intent.clone(), "usd".to_owned());
        intent
    }

    pub(super) fn refund(&mut self, intent: &str, amount: i64) -> Happening {
        let id = self.name("re");
        let refund = events::refund(&id, intent, amount, &self.intents[intent]);
        let charge = events::refunded_charge(intent, amount, &self.intents[intent]);
        let events = vec![
            events::body(&self.name("evt"), "refund.created", &refund),
            events::body(&self.name("evt"), "charge.refunded", &charge),
        ];
        self.refunds.insert(id.clone(), refund);
        Happening { id, events }
    }

    pub(super) fn fail_refund(&mut self, id: &str) -> Happening {
        let refund = self.refunds.get_mut(id).expect("a refund that was made");
        refund["status"] = json!("failed");
        refund["failure_reason"] = json!("expired_or_canceled_card");
        let refund = refund.clone();
        let kinds = ["refund.updated", "refund.failed", "charge.refund.updated"];
        let events = kinds.map(|kind| events::body(&self.name("evt"), kind, &refund));
        Happening { id: id.to_owned(), events: events.into() }
    }

    pub(super) fn dispute(&mut self, intent: &str, amount: i64) -> Happening {
        let id = self.name("du");
        let dispute = events::dispute(&id, intent, amount, &self.intents[intent]);
        let kinds = ["charge.dispute.created", "charge.dispute.funds_withdrawn"];
        let events = kinds.map(|kind| events::body(&self.name("evt"), kind, &dispute));
        self.disputes.insert(id.clone(), dispute);
        Happening { id, events: events.into() }
    }

    pub(super) fn win_dispute(&mut self, id: &str) -> Happening {
        let dispute = self.disputes.get_mut(id).expect("a dispute that was made");
        dispute["status"] = json!("won");
        let dispute = dispute.clone();
        let kinds = ["charge.dispute.closed", "charge.dispute.funds_reinstated"];
        let events = kinds.map(|kind| events::body(&self.name("evt"), kind, &dispute));
        Happening { id: id.to_owned(), events: events.into() }
    }
}
