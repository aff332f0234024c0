//! The order of a payment.

use overnight_outgoing::payment::{PaymentError, Receipt};
use overnight_testkit::stripe::Trouble;

use super::{order, start};

#[tokio::test]
async fn the_order_of_a_payment_is_found() {
    let (stripe, provider) = start().await;
    let order = order(1);
    let checkout = provider.open_checkout(&order).await.unwrap();
    let reference = stripe.pay(&checkout.session).id;
    let expected = Receipt {
        payment: order.id,
        reference: reference.clone(),
        amount: 1_000,
        currency: "usd".to_owned(),
    };
    assert_eq!(provider.find_receipt(&reference).await, Ok(Some(expected)));
}

#[tokio::test]
async fn a_payment_for_something_else_has_no_order() {
    let (stripe, provider) = start().await;
    let reference = stripe.pay_elsewhere();
    assert_eq!(provider.find_receipt(&reference).await, Ok(None));
}

#[tokio::test]
async fn a_payment_that_stripe_does_not_know_is_an_error() {
    // The sender has another account: ignoring a refund would hide that.
    let (_stripe, provider) = start().await;
    let error = provider.find_receipt("pi_1&limit=100").await.unwrap_err();
    let expected = PaymentError::Refused {
        code: "resource_missing".to_owned(),
        message: "No such payment_intent: 'pi_1&limit=100'".to_owned(),
    };
    assert_eq!(error, expected);
}

#[tokio::test]
async fn a_failure_passes_when_it_is_asked_again() {
    let (stripe, provider) = start().await;
    let checkout = provider.open_checkout(&order(1)).await.unwrap();
    let reference = stripe.pay(&checkout.session).id;
    for trouble in [Trouble::TooMany, Trouble::Failure] {
        stripe.trouble(trouble);
        assert!(provider.find_receipt(&reference).await.unwrap_err().is_passing());
        assert!(provider.find_receipt(&reference).await.unwrap().is_some());
    }
}
