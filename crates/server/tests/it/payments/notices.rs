//! Stripe's events about a payment, from the checkout to the dispute.

use overnight_outgoing::payment::{Notice, NoticeRefused, PaymentError, PaymentProvider, Receipt, Told};
use overnight_testkit::stripe::{Happening, sign, thin};

use super::{SIGNING_SECRET, order, start};

const SECOND: i64 = 1_790_000_000;

/// The notices read from events that are signed and delivered immediately.
fn read(provider: &dyn PaymentProvider, happening: &Happening) -> Vec<Notice> {
    let read_one = |body: &Vec<u8>| {
        let signature = sign(body, SIGNING_SECRET, SECOND);
        match provider.read_notice(Some(signature.as_bytes()), body, SECOND * 1_000).unwrap() {
            Told::Notice(notice) => notice,
            Told::Reference(reference) => panic!("a snapshot event has what it is about: {reference:?}"),
        }
    };
    happening.events.iter().map(read_one).collect()
}

async fn read_thin(provider: &dyn PaymentProvider, happening: &Happening) -> Vec<Notice> {
    let mut notices = Vec::new();
    for body in happening.events.iter().map(|event| thin(event)) {
        let signature = sign(&body, SIGNING_SECRET, SECOND);
        let told = provider.read_notice(Some(signature.as_bytes()), &body, SECOND * 1_000).unwrap();
        notices.push(match told {
            Told::Notice(notice) => notice,
            Told::Reference(reference) => provider.fetch_notice(&reference).await.unwrap(),
        });
    }
    notices
}

#[tokio::test]
async fn a_payment_is_told_from_the_page_to_the_dispute() {
    let (stripe, provider) = start().await;
    let order = order(1);
    let checkout = provider.open_checkout(&order).await.unwrap();
    let paid = stripe.pay(&checkout.session);
    let (reference, currency) = (paid.id.clone(), "usd".to_owned());
    let receipt = Receipt {
        payment: order.id,
        reference: reference.clone(),
        amount: 1_000,
        currency: currency.clone(),
    };
    assert_eq!(read(&*provider, &paid), [Notice::Paid(receipt)]);

    let refunded = stripe.refund(&reference, 400);
    let refund = |is_standing| Notice::Refund {
        id: refunded.id.clone(),
        reference: reference.clone(),
        amount: 400,
        currency: currency.clone(),
        is_standing,
    };
    assert_eq!(read(&*provider, &refunded), [refund(true), Notice::Nothing]);
    let failed = stripe.fail_refund(&refunded.id);
    assert_eq!(read(&*provider, &failed), [refund(false), refund(false), refund(false)]);

    let disputed = stripe.dispute(&reference, 1_000);
    let dispute = |is_withdrawn| Notice::Dispute {
        id: disputed.id.clone(),
        reference: reference.clone(),
        amount: 1_000,
        currency: currency.clone(),
        is_withdrawn,
    };
    assert_eq!(read(&*provider, &disputed), [Notice::Nothing, dispute(true)]);
    assert_eq!(read(&*provider, &stripe.win_dispute(&disputed.id)), [Notice::Nothing, dispute(false)]);
}

#[tokio::test]
async fn thin_events_tell_the_same() {
    let (stripe, provider) = start().await;
    let checkout = provider.open_checkout(&order(1)).await.unwrap();
    let paid = stripe.pay(&checkout.session);
    assert_eq!(read_thin(&*provider, &paid).await, read(&*provider, &paid));
    for happening in [stripe.refund(&paid.id, 400), stripe.dispute(&paid.id, 1_000)] {
        assert_eq!(read_thin(&*provider, &happening).await, read(&*provider, &happening));
    }
    // A fetched object has its current state, whichever event arrives first.
    let refunded = stripe.refund(&paid.id, 100);
    let failed = stripe.fail_refund(&refunded.id);
    let now = read(&*provider, &failed).remove(0);
    assert_eq!(read_thin(&*provider, &refunded).await, [now, Notice::Nothing]);
}

#[tokio::test]
async fn a_thin_event_that_is_not_understood_is_refused_and_one_of_what_is_not_there_is_not_lost() {
    let (_stripe, provider) = start().await;
    let read = |event: serde_json::Value| {
        let body = event.to_string().into_bytes();
        let signature = sign(&body, SIGNING_SECRET, SECOND);
        provider.read_notice(Some(signature.as_bytes()), &body, SECOND * 1_000)
    };
    let kind = "v1.checkout.session.completed";
    let event = |object: &str, kind: &str| serde_json::json!({"object": object, "type": kind, "related_object": {"id": "cs_test_9"}});
    let nameless = serde_json::json!({"object": "v2.core.event", "type": kind});
    for event in [nameless, event("v9.event", kind)] {
        assert!(matches!(read(event.clone()), Err(NoticeRefused::Malformed(_))), "{event}");
    }
    for other in ["v1.customer.created", "v2.core.account.updated"] {
        assert_eq!(read(event("v2.core.event", other)), Ok(Told::Notice(Notice::Nothing)));
    }
    let Ok(Told::Reference(reference)) = read(event("v2.core.event", kind)) else {
        panic!("it names a session")
    };
    assert!(matches!(provider.fetch_notice(&reference).await, Err(PaymentError::Refused { .. })));
}

#[tokio::test]
async fn a_debit_is_paid_when_it_has_succeeded() {
    let (stripe, provider) = start().await;
    let checkout = provider.open_checkout(&order(1)).await.unwrap();
    let notices = read(&*provider, &stripe.pay_late(&checkout.session));
    assert!(matches!(&notices[..], [Notice::Nothing, Notice::Paid(_)]), "{notices:?}");
}

#[tokio::test]
async fn only_what_stripe_signed_is_read() {
    let (stripe, provider) = start().await;
    let checkout = provider.open_checkout(&order(1)).await.unwrap();
    let body = stripe.pay(&checkout.session).events.remove(0);
    let read = |signature: Option<&str>, body: &[u8], now| {
        provider.read_notice(signature.map(str::as_bytes), body, now).unwrap_err()
    };
    let now = SECOND * 1_000;
    let good = sign(&body, SIGNING_SECRET, SECOND);
    assert_eq!(read(None, &body, now), NoticeRefused::NoSignature);
    assert_eq!(read(Some("v1"), &body, now), NoticeRefused::MalformedSignature);
    assert_eq!(read(Some(&good), &body[1..], now), NoticeRefused::WrongSignature);
    assert_eq!(read(Some(&sign(&body, "whsec_x", SECOND)), &body, now), NoticeRefused::WrongSignature);
    assert_eq!(read(Some(&good), &body, now + 301_000), NoticeRefused::TooOld);
    assert_eq!(read(Some(&good), &body, now - 301_000), NoticeRefused::FromTheFuture);
    let signed = sign(b"{", SIGNING_SECRET, SECOND);
    assert!(matches!(read(Some(&signed), b"{", now), NoticeRefused::Malformed(_)));
}
