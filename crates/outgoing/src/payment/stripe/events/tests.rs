use overnight_domain::ids::PaymentId;
use serde_json::{Value, json};

use super::*;
use crate::payment::Receipt;

const PAYMENT: PaymentId = PaymentId::from_bits(7);

fn session(status: &str) -> Value {
    json!({
        "id": "cs_test_1", "object": "checkout.session", "amount_total": 1000, "currency": "usd",
        "client_reference_id": PAYMENT.to_string(), "payment_status": status, "payment_intent": "pi_1",
        "metadata": {"overnight_payment": PAYMENT.to_string(), "overnight_account": "acct_x"},
        "status": "complete", "mode": "payment", "url": null,
    })
}

fn reversal(id: &str) -> Value {
    json!({
        "id": id, "object": "x", "amount": 400, "currency": "usd", "charge": "ch_1",
        "payment_intent": "pi_1", "status": "succeeded", "balance_transactions": [],
    })
}

fn with(mut object: Value, key: &str, value: Value) -> Value {
    object[key] = value;
    object
}

fn read_event(kind: &str, object: &Value) -> Result<Notice, String> {
    let event = json!({
        "id": "evt_1", "object": "event", "api_version": "2026-10-28.endive", "created": 1_700_000_000,
        "data": {"object": object}, "livemode": false, "pending_webhooks": 1,
        "request": {"id": null, "idempotency_key": null}, "type": kind,
    });
    match read(event.to_string().as_bytes())? {
        Told::Notice(notice) => Ok(notice),
        Told::Reference(reference) => panic!("{reference:?}"),
    }
}

fn receipt() -> Notice {
    Notice::Paid(Receipt {
        payment: PAYMENT,
        reference: "pi_1".to_owned(),
        amount: 1_000,
        currency: "usd".to_owned(),
    })
}

const COMPLETED: &str = "checkout.session.completed";
const PAID_LATE: &str = "checkout.session.async_payment_succeeded";

#[test]
fn an_order_is_paid_when_its_money_is_there() {
    let expanded = with(session("paid"), "payment_intent", json!({"id": "pi_1", "object": "payment_intent"}));
    for (kind, object, expected) in [
        (COMPLETED, session("paid"), receipt()),
        (COMPLETED, expanded, receipt()),
        (COMPLETED, session("unpaid"), Notice::Nothing),
        (COMPLETED, session("no_payment_required"), Notice::Nothing),
        (PAID_LATE, session("paid"), receipt()),
        (PAID_LATE, session("unpaid"), receipt()),
        ("checkout.session.async_payment_failed", session("unpaid"), Notice::Nothing),
        ("checkout.session.expired", session("unpaid"), Notice::Nothing),
    ] {
        assert_eq!(read_event(kind, &object), Ok(expected), "{kind} {object}");
    }
}

#[test]
fn what_another_sells_over_the_same_account_is_nothing() {
    let other = PaymentId::from_bits(8).to_string();
    for object in [
        with(session("paid"), "client_reference_id", Value::Null),
        with(session("paid"), "client_reference_id", json!("cart-17")),
        with(session("paid"), "client_reference_id", json!(other)),
        with(session("paid"), "metadata", Value::Null),
        with(session("paid"), "metadata", json!({})),
        with(session("paid"), "metadata", json!({"overnight_payment": other})),
        with(with(session("paid"), "metadata", json!({"cart": "17"})), "currency", json!("kwd")),
    ] {
        assert_eq!(read_event(COMPLETED, &object), Ok(Notice::Nothing), "{object}");
    }
}

#[test]
fn a_refund_stands_until_it_fails() {
    for kind in ["refund.created", "refund.updated", "refund.failed", "charge.refund.updated"] {
        for (status, is_standing) in [
            (json!("pending"), true),
            (json!("requires_action"), true),
            (json!("succeeded"), true),
            (Value::Null, true),
            (json!("failed"), false),
            (json!("canceled"), false),
        ] {
            let expected = Notice::Refund {
                id: "re_1".to_owned(),
                reference: "pi_1".to_owned(),
                amount: 400,
                currency: "usd".to_owned(),
                is_standing,
            };
            assert_eq!(read_event(kind, &with(reversal("re_1"), "status", status)), Ok(expected));
        }
    }
    let foreign = with(reversal("re_1"), "payment_intent", Value::Null);
    assert_eq!(read_event("refund.created", &foreign), Ok(Notice::Nothing));
}

#[test]
fn a_dispute_takes_money_and_gives_it_again() {
    for (kind, is_withdrawn) in
        [("charge.dispute.funds_withdrawn", true), ("charge.dispute.funds_reinstated", false)]
    {
        let expected = Notice::Dispute {
            id: "du_1".to_owned(),
            reference: "pi_1".to_owned(),
            amount: 400,
            currency: "usd".to_owned(),
            is_withdrawn,
        };
        assert_eq!(read_event(kind, &reversal("du_1")), Ok(expected.clone()));
        let expanded = with(reversal("du_1"), "payment_intent", json!({"id": "pi_1"}));
        assert_eq!(read_event(kind, &expanded), Ok(expected));
        let foreign = with(reversal("du_1"), "payment_intent", Value::Null);
        assert_eq!(read_event(kind, &foreign), Ok(Notice::Nothing));
    }
}

#[test]
fn events_of_other_kinds_are_nothing_whatever_they_hold() {
    for kind in ["charge.refunded", "charge.dispute.created", "charge.dispute.closed", "customer.created", ""]
    {
        assert_eq!(read_event(kind, &json!({"id": 1})), Ok(Notice::Nothing), "{kind}");
    }
    let thin = br#"{"id":"evt_1","object":"v2.core.event","type":"v1.charge.refunded","related_object":{}}"#;
    assert_eq!(read(thin), Ok(Told::Notice(Notice::Nothing)));
}

#[test]
fn a_thin_event_says_what_to_fetch() {
    let event = |related: &str| {
        let event = format!(
            r#"{{"id":"evt_1","object":"v2.core.event","type":"v1.refund.created","related_object":{related}}}"#
        );
        read(event.as_bytes())
    };
    let expected = NoticeReference { kind: "refund.created".to_owned(), id: "re_1".to_owned() };
    assert_eq!(event(r#"{"id":"re_1","type":"refund"}"#), Ok(Told::Reference(expected)));
    for related in ["null", r#"{"id":""}"#, r#"{"id":"re 1"}"#, "{}"] {
        assert!(event(related).is_err(), "{related}");
    }
    for (kind, path) in [
        (COMPLETED, Some("checkout/sessions")),
        ("refund.updated", Some("refunds")),
        ("charge.dispute.funds_withdrawn", Some("disputes")),
        ("charge.refunded", None),
    ] {
        assert_eq!(path_of(kind), path);
    }
}

#[test]
fn an_event_that_is_not_understood_is_malformed() {
    for (kind, object, part) in [
        (COMPLETED, with(session("paid"), "amount_total", json!(-1)), "an amount of -1"),
        (COMPLETED, with(session("paid"), "amount_total", json!(1_000_000_000_000_i64)), "an amount of"),
        (COMPLETED, with(session("paid"), "amount_total", json!(10.5)), "floating point"),
        (COMPLETED, with(session("paid"), "amount_total", Value::Null), "no `amount_total`"),
        (COMPLETED, with(session("paid"), "currency", Value::Null), "no `currency`"),
        (COMPLETED, with(session("paid"), "payment_intent", Value::Null), "no `payment_intent`"),
        (COMPLETED, with(session("paid"), "payment_intent", json!("")), "a name that is none"),
        (COMPLETED, with(session("paid"), "payment_intent", json!(1)), "did not match"),
        (COMPLETED, with(session("paid"), "payment_intent", json!("p".repeat(256))), "a name that is none"),
        (COMPLETED, json!([]), "invalid"),
        ("refund.created", with(reversal("re_1"), "amount", json!(-400)), "an amount of -400"),
        ("refund.created", with(reversal("re 1"), "amount", json!(1)), "a name that is none"),
        ("refund.failed", json!({"id": "re_1"}), "missing field"),
        ("charge.dispute.funds_withdrawn", with(reversal("du_1"), "amount", json!(i64::MAX)), "an amount of"),
    ] {
        let words = read_event(kind, &object).expect_err(&object.to_string());
        assert!(words.contains(part), "{object}: {words} lacks {part}");
    }
    for body in ["", "{", "[]", "null", r#"{"type":1}"#, r#"{"data":{}}"#, r#"{"type":"refund.created"}"#] {
        assert!(read(body.as_bytes()).is_err(), "{body}");
    }
    assert!(read(b"\xff\xfe").is_err());
}
