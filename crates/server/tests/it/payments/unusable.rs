//! Misconfigured providers, and the provider without payments.

use std::ffi::OsString;
use std::sync::Arc;

use overnight_base::clock::{SharedClock, SystemClock};
use overnight_config::OutgoingConfig;
use overnight_outgoing::payment::{self, NoticeRefused, PaymentError};
use overnight_testkit::stripe::{Stripe, sign};

use super::{SECRET_KEY, SIGNING_SECRET, billing, keys, order, provider_at, start};

#[tokio::test]
async fn a_missing_key_is_missed_only_where_it_is_needed() {
    let stripe = Stripe::start(SECRET_KEY).await.unwrap();
    let without = |missing: &'static str| {
        let variable = move |name: &str| keys(name).filter(|_| name != missing);
        provider_at(&stripe.base_url(), variable)
    };
    let signature = sign(b"{}", SIGNING_SECRET, 0);

    let provider = without("STRIPE_SECRET_KEY");
    let sentence = provider.check().unwrap_err().to_string();
    assert!(sentence.contains("STRIPE_SECRET_KEY") && sentence.ends_with("is not set"), "{sentence}");
    assert!(matches!(provider.open_checkout(&order(1)).await, Err(PaymentError::Unusable(_))));
    assert!(matches!(provider.find_receipt("pi_1").await, Err(PaymentError::Unusable(_))));
    let read = provider.read_notice(Some(signature.as_bytes()), b"{}", 0);
    assert!(matches!(read, Err(NoticeRefused::Malformed(_))), "{read:?}");

    let provider = without("STRIPE_WEBHOOK_SECRET");
    let sentence = provider.check().unwrap_err().to_string();
    assert!(sentence.contains("STRIPE_WEBHOOK_SECRET"), "{sentence}");
    provider.open_checkout(&order(1)).await.unwrap();
    let read = provider.read_notice(Some(signature.as_bytes()), b"{}", 0);
    assert!(matches!(read, Err(NoticeRefused::Unusable(_))), "{read:?}");
}

#[tokio::test]
async fn a_provider_with_both_keys_is_usable() {
    let (_stripe, provider) = start().await;
    assert_eq!((provider.name(), provider.check()), ("stripe", Ok(())));
    assert_eq!(provider_at("https://api.stripe.com", keys).check(), Ok(()));
}

#[tokio::test]
async fn without_a_provider_the_operator_grants() {
    let clock: SharedClock = Arc::new(SystemClock);
    let provider =
        payment::provider_with(&billing("manual", "https://h"), &OutgoingConfig::default(), &clock, |_| {
            None::<OsString>
        });
    assert_eq!((provider.name(), provider.check()), ("manual", Ok(())));
    let sentence = provider.open_checkout(&order(1)).await.unwrap_err().to_string();
    assert!(sentence.contains("`overnight account grant`"), "{sentence}");
    assert_eq!(provider.read_notice(Some(b"t=0,v1=0"), b"{}", 0), Err(NoticeRefused::NotTaken));
    assert_eq!(provider.find_receipt("pi_1").await, Ok(None));
}
