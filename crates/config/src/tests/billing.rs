//! What credits are worth: the settings, and what follows from them.

use overnight_domain::money::{Credits, Pricing};

use super::*;

fn billing(text: &str) -> BillingConfig {
    load_text(&format!("[billing]\n{text}")).unwrap().billing
}

#[test]
fn by_default_requests_cost_credits_that_the_operator_grants() {
    let billing = Config::load(&Sources::default()).unwrap().billing;
    assert!(billing.enabled);
    assert_eq!(billing.bootstrap_credits.to_string(), "100");
    assert_eq!(billing.provider, ProviderConfig::Manual);
    assert_eq!((billing.currency.as_str(), billing.credit_price.as_str()), ("usd", "1"));
}

#[test]
fn stripe_has_settings_of_its_own() {
    let ProviderConfig::Stripe(stripe) = billing("provider = \"stripe\"").provider else {
        panic!("not Stripe");
    };
    assert_eq!(stripe.secret_key_env, "STRIPE_SECRET_KEY");
    assert_eq!(stripe.webhook_secret_env, "STRIPE_WEBHOOK_SECRET");
    assert_eq!(stripe.base_url.as_str(), "https://api.stripe.com/");
    let loopback = "provider = \"stripe\"\n[billing.stripe]\nbase_url = \"http://127.0.0.1:12111\"";
    assert!(matches!(billing(loopback).provider, ProviderConfig::Stripe(_)));
    let environment =
        load_environment(&[("OVERNIGHT_BILLING__STRIPE__SECRET_KEY_ENV", "OTHER")]).unwrap().billing;
    assert_eq!(environment.provider, ProviderConfig::Manual);
}

#[test]
fn a_price_or_an_amount_that_cannot_be_meant_is_refused() {
    check_table(
        "[billing]\n",
        r#"
        bootstrap_credits = "-1" => `billing.bootstrap_credits` must be 0 or more | "-1"
        bootstrap_credits = "1000000001" => must be a decimal number of at most a billion | line 2
        bootstrap_credits = 100 => `billing.bootstrap_credits` must be a string | an integer
        provider = "paypal" => `billing.provider` must be manual or stripe | "paypal"
        currency = "USD" => `billing.currency` must be three small letters | "USD"
        currency = "kwd" => `billing.currency` must be a currency of 100 minor units | "kwd"
        credit_price = "0.0" => `billing.credit_price` must be more than 0 | "0.0"
        credit_price = "-1" => `billing.credit_price` must be a decimal number | line 2
        [billing.stripe] ; base_url = "http://h" => `billing.stripe.base_url` must be https | line 3
        [billing.stripe] ; secret_key_env = "OVERNIGHT_K" => `billing.stripe.secret_key_env` must be the name | OVERNIGHT_
        [billing.stripe] ; secret_key = "sk" => `billing.stripe.secret_key` | `billing.stripe.secret_key_env`
        "#,
    );
}

#[test]
fn credits_cost_whole_minor_units_or_cannot_be_paid() {
    for (currency, price, credits, units) in [
        ("usd", "1", "10", Some(1_000)),
        ("usd", "1", "0.01", Some(1)),
        ("usd", "1", "0.001", None),
        ("usd", "0.125", "8", Some(100)),
        ("usd", "0.125", "1", None),
        ("usd", "0.000000001", "1000000000", Some(100)),
        ("usd", "999999999", "1000000000", None),
        ("usd", "99999999", "900000000", Some(8_999_999_910_000_000_000)),
        ("jpy", "150", "10", Some(1_500)),
        ("jpy", "1", "0.01", None),
        ("usd", "1", "0", None),
        ("usd", "1", "-1", None),
    ] {
        let billing = billing(&format!("currency = \"{currency}\"\ncredit_price = \"{price}\""));
        let paid = billing.minor_units(credits.parse().unwrap());
        assert_eq!(paid.as_ref().ok(), units.as_ref(), "{credits} at {price} {currency}: {paid:?}");
    }
    assert!(billing("").minor_units(Credits::from_nanos(i64::MAX)).is_err());
    let sentence = billing("").minor_units("0.001".parse().unwrap()).unwrap_err().to_string();
    assert!(sentence.starts_with("0.001 credits at 1 usd each do not cost"), "{sentence}");
}

#[test]
fn a_model_is_priced_by_either_price() {
    for (prices, expected) in [
        ("", None),
        ("input_price = \"0.10\"", Some(("0.1", "0"))),
        ("output_price = \"0.15\"", Some(("0", "0.15"))),
        ("input_price = \"1\"\noutput_price = \"2\"", Some(("1", "2"))),
        ("input_price = \"0\"", Some(("0", "0"))),
    ] {
        let config = load_text(&format!("[[models]]\nname = \"m\"\n{prices}")).unwrap();
        let expected = expected.map(|(input, output)| Pricing {
            input: input.parse().unwrap(),
            output: output.parse().unwrap(),
        });
        assert_eq!(config.models[0].pricing(), expected, "{prices}");
    }
}
