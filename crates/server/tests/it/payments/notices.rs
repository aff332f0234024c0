//! Reading what Stripe tells of a payment, from the page to the dispute.

use overnight_server::payment::{Notice, NoticeRefused, PaymentProvider, Receipt};
use overnight_testkit::stripe::{Happening, sign};

use super::{SIGNING_SECRET, order, start};

const SECOND: i64 = 1_790_000_000;

/// What the provider makes of the events, each signed and delivered at once.
fn read(provider: &dyn PaymentProvider, happening: &Happening) -> Vec<Notice> {
    let read_one = |body: &Vec<u8>| {
        let signature = sign(body, SIGNING_SECRET, SECOND);
        provider.read_notice(Some(signature.as_bytes()), body, SECOND * 1_000).unwrap()
    };
    happening.events.iter().map(read_one).collect()
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
