//! The worker that asks Stripe about orders without events.

use futures_util::future::join_all;
use overnight_app::{Services, accounts, payments as orders};
use overnight_config::{BillingConfig, OutgoingConfig, ProviderConfig};
use overnight_domain::money::EntryKind;
use overnight_outgoing::payment;
use overnight_runtime::workers;
use overnight_testkit::stripe::Trouble;

use super::shop::{Shop, entry, session_of};
use crate::support::Log;

const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;

/// Runs the worker at this time after the start, in milliseconds; returns the number of calls to Stripe so far.
async fn run_at(shop: &Shop, after_ms: i64) -> u64 {
    let services = &shop.app.services;
    workers::payment_checks(services, services.clock.now() + after_ms).await.expect("a run");
    shop.stripe.question_count()
}

/// Runs the worker every minute of an interval; returns the number of calls to Stripe.
async fn run_between(shop: &Shop, from_ms: i64, until_ms: i64) -> u64 {
    for after_ms in (from_ms..until_ms).step_by(60_000) {
        run_at(shop, after_ms).await;
    }
    shop.stripe.question_count()
}

#[tokio::test]
async fn a_payment_whose_event_never_came_is_posted_within_minutes_and_once() {
    let shop = Shop::open().await;
    let paid = shop.stripe.pay(session_of(&shop.order("12.5").await));
    assert_eq!(run_at(&shop, 9 * MINUTE_MS).await, 0, "its event has time to come");
    assert_eq!(run_at(&shop, 10 * MINUTE_MS).await, 1);
    assert_eq!(shop.ledger().await, [entry(EntryKind::TopUp, "12.5")]);
    assert_eq!(run_between(&shop, 10 * MINUTE_MS, DAY_MS).await, 1, "it is paid");
    shop.tell_all(&paid.events).await;
    assert_eq!(shop.ledger().await, [entry(EntryKind::TopUp, "12.5")]);
    shop.app.stop().await;
}

#[tokio::test]
async fn an_order_that_was_told_of_is_never_asked_for() {
    let shop = Shop::open().await;
    let paid = shop.stripe.pay(session_of(&shop.order("5").await));
    shop.tell_all(&paid.events).await;
    assert_eq!(run_between(&shop, 0, DAY_MS).await, 0);
    shop.app.stop().await;
}

#[tokio::test]
async fn an_unpaid_order_is_asked_for_less_and_less_until_its_page_is_closed() {
    let shop = Shop::open().await;
    let session = session_of(&shop.order("5").await).to_owned();
    let asked = run_between(&shop, 0, 23 * 60 * MINUTE_MS).await;
    assert!((15..=25).contains(&asked), "{asked}");
    // A bank transfer that arrives after days.
    shop.stripe.pay_late(&session);
    let late = shop.order("6").await;
    run_between(&shop, 23 * 60 * MINUTE_MS, 30 * 60 * MINUTE_MS).await;
    assert_eq!(shop.ledger().await, [entry(EntryKind::TopUp, "5")]);

    let before = shop.stripe.question_count();
    shop.stripe.expire(session_of(&late));
    assert_eq!(run_between(&shop, 2 * DAY_MS, 3 * DAY_MS).await, before + 1, "nobody can pay there any more");
    assert_eq!(shop.ledger().await, [entry(EntryKind::TopUp, "5")]);
    shop.app.stop().await;
}

#[tokio::test]
async fn an_order_that_stays_open_is_given_up_after_thirty_days() {
    let shop = Shop::open().await;
    shop.order("5").await;
    let asked = run_at(&shop, 31 * DAY_MS).await;
    assert_eq!(asked, 1);
    assert_eq!(run_at(&shop, 62 * DAY_MS).await, asked);
    shop.app.stop().await;
}

#[tokio::test]
async fn an_account_that_orders_and_never_pays_does_not_delay_the_payment_of_another() {
    let shop = Shop::open().await;
    for _ in 0..100 {
        shop.order("5").await;
    }
    let services = &shop.app.services;
    let honest = accounts::create(services, "honest").await.expect("an account");
    let credits = "7".parse().expect("credits");
    let top_up = orders::top_up(services, honest.id, credits, None).await.expect("an order");
    shop.stripe.pay(session_of(&top_up));
    let asked = run_between(&shop, 0, 11 * MINUTE_MS).await;
    assert_eq!(asked, 2, "one for each account");
    let balance = accounts::get(services, honest.id).await.expect("the account").balance;
    assert_eq!(balance, credits);
    shop.app.stop().await;
}

#[tokio::test]
async fn where_stripe_fails_the_order_is_asked_for_again() {
    let shop = Shop::open().await;
    shop.stripe.pay(session_of(&shop.order("5").await));
    shop.stripe.trouble(Trouble::Failure);
    run_at(&shop, 10 * MINUTE_MS).await;
    assert_eq!(shop.ledger().await, []);
    run_at(&shop, 19 * MINUTE_MS).await;
    assert_eq!(shop.ledger().await, [], "it is not due");
    run_at(&shop, 20 * MINUTE_MS).await;
    assert_eq!(shop.ledger().await, [entry(EntryKind::TopUp, "5")]);
    shop.app.stop().await;
}

#[tokio::test]
async fn nodes_that_run_at_once_ask_for_each_order_once() {
    let shop = Shop::open().await;
    for _ in 0..5 {
        shop.stripe.pay(session_of(&shop.order("2").await));
    }
    join_all([(); 4].map(|()| run_at(&shop, 60 * MINUTE_MS))).await;
    assert_eq!(shop.stripe.question_count(), 5);
    assert_eq!(shop.available().await, "10");
    shop.app.stop().await;
}

#[tokio::test]
async fn orders_at_a_provider_that_was_there_before_are_not_asked_for() {
    let shop = Shop::open().await;
    shop.stripe.pay(session_of(&shop.order("5").await));
    let services = &shop.app.services;
    let manual = BillingConfig { provider: ProviderConfig::Manual, ..services.config().billing.clone() };
    let payments = payment::provider(&manual, &OutgoingConfig::default(), &services.clock);
    let changed = Services { payments, ..services.clone() };
    let log = Log::keep();
    workers::payment_checks(&changed, services.clock.now() + 10 * MINUTE_MS).await.expect("a run");
    let told = log.lines_with("the provider was not asked");
    assert!(shop.stripe.question_count() == 0 && told.is_empty(), "{told:?}");
    run_at(&shop, 20 * MINUTE_MS).await;
    assert_eq!(shop.ledger().await, [entry(EntryKind::TopUp, "5")], "the settings name it again");
    shop.app.stop().await;
}
