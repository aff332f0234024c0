//! Notices over HTTP as Stripe delivers them: with real signatures, repeated, in any order.

use futures_util::future::join_all;
use overnight_app::accounts;
use overnight_app::idempotency::FormKey;
use overnight_app::payments::{self as orders, Heard};
use overnight_domain::money::{Credits, EntryKind};
use overnight_testkit::stripe::sign;

use super::SIGNING_SECRET;
use super::shop::{Shop, entry, session_of};
use crate::support::{Log, TestApp};

#[tokio::test]
async fn a_payment_told_five_times_and_once_by_a_forger_is_posted_once() {
    let shop = Shop::open().await;
    shop.customer.get("/v1/models").await.refused(402, "payments_not_activated");
    let top_up = shop.order("12.5").await;
    let paid = shop.stripe.pay(session_of(&top_up));
    let event = paid.events.last().expect("an event");

    let forged = shop.tell_signed(event, &sign(event, "whsec_of_a_forger", shop.now())).await;
    forged.refused(400, "invalid_notice");
    assert_eq!(shop.ledger().await, []);
    let answers = join_all([(); 5].map(|()| shop.tell(event))).await;
    assert!(answers.iter().all(|answered| answered.status == 200), "{answers:?}");
    assert_eq!(shop.ledger().await, [entry(EntryKind::TopUp, "12.5")]);

    // The payment activates the account immediately.
    let account = shop.customer.get("/v1/account").await.json();
    assert_eq!((&account["available"], &account["payments_activated"]), (&"12.5".into(), &true.into()));
    shop.app.stop().await;
}

#[tokio::test]
async fn what_is_repeated_later_or_changed_or_unsigned_is_not_believed() {
    let shop = Shop::open().await;
    let paid = shop.stripe.pay(session_of(&shop.order("5").await));
    let event = paid.events.last().expect("an event");
    let old = sign(event, SIGNING_SECRET, shop.now() - 301);
    let early = sign(event, SIGNING_SECRET, shop.now() + 302);
    let good = sign(event, SIGNING_SECRET, shop.now());
    for signature in [old.as_str(), &early, "", "t=1", "v1=00", "nonsense"] {
        shop.tell_signed(event, signature).await.refused(400, "invalid_notice");
    }
    let more = String::from_utf8(event.clone()).expect("text").replace("1000", "9000");
    shop.tell_signed(more.as_bytes(), &good).await.refused(400, "invalid_notice");
    shop.app.anonymous().send("POST", "/hooks/stripe", event.clone()).await.refused(400, "invalid_notice");
    shop.tell(b"{}").await.refused(400, "invalid_notice");
    shop.tell(&vec![b' '; (64 << 10) + 1]).await.refused(413, "too_large");
    shop.app.anonymous().get("/hooks/stripe").await.refused(405, "method_not_allowed");
    assert_eq!(shop.ledger().await, []);
    assert_eq!(shop.tell_signed(event, &good).await.status, 200);
    assert_eq!(shop.ledger().await, [entry(EntryKind::TopUp, "5")]);
    shop.app.stop().await;
}

#[tokio::test]
async fn a_refund_told_before_its_payment_is_posted_after_it() {
    let shop = Shop::open().await;
    let paid = shop.stripe.pay(session_of(&shop.order("10").await));
    let refund = shop.stripe.refund(&paid.id, 500);
    let failed = shop.stripe.fail_refund(&refund.id);
    // The refund of a quarter of 20 euros is delivered first, then the payment, then everything again in reverse.
    shop.tell_all(&refund.events).await;
    assert_eq!(shop.ledger().await, [entry(EntryKind::TopUp, "10"), entry(EntryKind::Refund, "-2.5")]);
    shop.tell_all(&paid.events).await;
    assert_eq!(shop.available().await, "7.5");
    shop.tell_all(&failed.events).await;
    shop.tell_all(&refund.events).await;
    let expected =
        [entry(EntryKind::TopUp, "10"), entry(EntryKind::Refund, "-2.5"), entry(EntryKind::Refund, "2.5")];
    assert_eq!(shop.ledger().await, expected);
    shop.app.stop().await;
}

#[tokio::test]
async fn a_dispute_may_take_an_account_below_zero_where_it_reads_and_does_not_create() {
    let shop = Shop::open().await;
    let paid = shop.stripe.pay_late(session_of(&shop.order("10").await));
    assert_eq!(shop.tell(&paid.events[0]).await.status, 200);
    assert_eq!(shop.ledger().await, [], "completed, and not paid yet");
    shop.tell_all(&paid.events).await;
    let body = TestApp::quick_start("x");
    assert_eq!(shop.customer.post("/v1/requests", &body).await.status, 201);
    let dispute = shop.stripe.dispute(&paid.id, 2_000);
    shop.tell_all(&dispute.events).await;
    assert!(shop.available().await.starts_with("-0.000"), "{}", shop.available().await);
    shop.customer.post("/v1/requests", &body).await.refused(402, "insufficient_credits");
    assert_eq!(shop.customer.get("/v1/requests").await.ids().len(), 1);

    // The dispute is won, and the withdrawal is delivered again after it.
    let won = shop.stripe.win_dispute(&dispute.id);
    shop.tell_all(&won.events).await;
    let log = Log::keep();
    shop.tell_all(&dispute.events).await;
    let logged = log.lines_with("whether it took its funds twice");
    assert!(logged.len() == 1 && logged[0].contains(&dispute.id), "{logged:?}");
    let expected =
        [entry(EntryKind::TopUp, "10"), entry(EntryKind::Dispute, "-10"), entry(EntryKind::Dispute, "10")];
    assert_eq!(shop.ledger().await, expected);
    assert_eq!(shop.customer.post("/v1/requests", &body).await.status, 201);
    shop.app.stop().await;
}

#[tokio::test]
async fn a_payment_that_was_never_told_of_is_found_by_asking() {
    let shop = Shop::open().await;
    let services = &shop.app.services;
    let paid = shop.stripe.pay(session_of(&shop.order("4").await));
    shop.order("5").await;
    let asked = async || {
        let mut heard = Vec::new();
        for order in orders::list(services, shop.account.id, None, 9).await.expect("the orders").rows {
            heard.push(orders::check(services, &order).await.expect("an answer"));
        }
        heard
    };
    assert_eq!(asked().await, [Heard::Nothing, Heard::Posted]);
    assert_eq!(asked().await, [Heard::Nothing, Heard::Nothing]);
    // The payment is delivered last.
    shop.tell_all(&paid.events).await;
    assert_eq!(shop.ledger().await, [entry(EntryKind::TopUp, "4")]);
    shop.app.stop().await;
}

#[tokio::test]
async fn a_payment_that_another_order_claims_too_is_posted_for_the_first() {
    let shop = Shop::open().await;
    let (first, second) = (shop.order("4").await, shop.order("5").await);
    let paid = shop.stripe.pay(session_of(&first));
    shop.tell_all(&paid.events).await;
    let claim = String::from_utf8(paid.events.last().expect("an event").clone()).expect("text");
    let claim = claim.replace(&first.payment.to_string(), &second.payment.to_string());
    assert_eq!(shop.tell(claim.as_bytes()).await.status, 200, "told again, it would not get better");
    assert_eq!(shop.ledger().await, [entry(EntryKind::TopUp, "4")]);
    shop.app.stop().await;
}

#[tokio::test]
async fn a_second_payment_of_an_order_is_an_error_to_the_operator() {
    let shop = Shop::open().await;
    let paid = shop.stripe.pay(session_of(&shop.order("4").await));
    shop.tell_all(&paid.events).await;
    let second = String::from_utf8(paid.events.last().expect("an event").clone()).expect("text");
    let second = second.replace(&paid.id, "pi_of_another_session");
    let log = Log::keep();
    assert_eq!(shop.tell(second.as_bytes()).await.status, 200, "told again, it would not get better");
    let logged = log.lines_with("paid before by another payment");
    assert!(logged.len() == 1 && logged[0].contains("pi_of_another_session"), "{logged:?}");
    assert_eq!(shop.ledger().await, [entry(EntryKind::TopUp, "4")]);
    shop.app.stop().await;
}

#[tokio::test]
async fn what_is_not_ours_is_answered_and_posts_nothing() {
    let shop = Shop::open().await;
    let elsewhere = shop.stripe.pay_elsewhere();
    shop.tell_all(&shop.stripe.refund(&elsewhere, 100).events).await;
    let other = shop.tell(br#"{"type":"customer.created","data":{"object":{}}}"#).await;
    assert_eq!(other.status, 200);
    assert_eq!(shop.ledger().await, []);
    shop.app.stop().await;
}

#[tokio::test]
async fn no_order_is_made_for_what_cannot_be_paid() {
    let shop = Shop::open().await;
    for amount in ["0", "-1", "0.001", "0.0075"] {
        let credits: Credits = amount.parse().expect("credits");
        let is_so = orders::top_up(&shop.app.services, shop.account.id, credits, None).await.is_err();
        assert!(is_so, "{amount}");
    }
    assert_eq!(shop.stripe.session_count(), 0);
    let nothing =
        orders::top_up(&shop.app.services, shop.account.id, Credits::ZERO, None).await.expect_err("nothing");
    assert_eq!(nothing.to_string(), "amount must be more than 0 credits");
    shop.app.stop().await;
}

#[tokio::test]
async fn where_nobody_takes_payments_there_is_no_hook_and_no_order() {
    let app = TestApp::start().await;
    app.anonymous().send("POST", "/hooks/stripe", "{}").await.refused(404, "not_found");
    let account = accounts::list(&app.services).await.expect("accounts").remove(0);
    let refused = orders::top_up(&app.services, account.id, "1".parse().expect("credits"), None).await;
    assert!(refused.expect_err("a refusal").to_string().contains("overnight account grant"));
    let thanks = app.anonymous().get("/payments/thanks").await;
    assert!(thanks.status == 200 && thanks.header("content-type").starts_with("text/html"));
    app.stop().await;
}

#[tokio::test]
async fn a_form_that_is_sent_twice_orders_once_and_leads_to_the_same_page() {
    let shop = Shop::open().await;
    let order =
        |form| orders::top_up(&shop.app.services, shop.account.id, "25".parse().expect("credits"), form);
    let form = Some(FormKey([7; 32]));
    let (first, second) = (order(form).await.expect("an order"), order(form).await.expect("the same"));
    assert_eq!((first.payment, &first.url), (second.payment, &second.url));
    let other = order(Some(FormKey([8; 32]))).await.expect("another order");
    assert_ne!(other.payment, first.payment);
    let listed = orders::list(&shop.app.services, shop.account.id, None, 10).await.expect("a list");
    assert_eq!(listed.rows.len(), 2);
    shop.app.stop().await;
}
