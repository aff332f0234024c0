//! Payment providers: the client of Stripe with a simulated Stripe, and the provider for services without payments.

mod checkouts;
mod checks;
mod notices;
mod posting;
mod receipts;
mod shop;
mod unusable;

pub(crate) use self::shop::{stand_in, start_selling};

use std::ffi::OsString;
use std::sync::Arc;

use overnight_base::clock::{SharedClock, SystemClock};
use overnight_config::{BillingConfig, Config, OutgoingConfig, Sources};
use overnight_domain::ids::{AccountId, PaymentId};
use overnight_outgoing::payment::{self, Order, PaymentProvider};
use overnight_testkit::stripe::Stripe;

const SECRET_KEY: &str = "sk_test_4eC39HqLyjWDarjtT1zdp7dc";
const SIGNING_SECRET: &str = "whsec_test_secret";

fn billing(provider: &str, base_url: &str) -> BillingConfig {
    let environment = vec![
        ("OVERNIGHT_BILLING__PROVIDER".to_owned(), provider.to_owned()),
        ("OVERNIGHT_BILLING__STRIPE__BASE_URL".to_owned(), base_url.to_owned()),
    ];
    Config::load(&Sources { environment, ..Sources::default() }).unwrap().billing
}

/// The environment of a process with both keys.
fn keys(variable: &str) -> Option<OsString> {
    match variable {
        "STRIPE_SECRET_KEY" => Some(SECRET_KEY.into()),
        "STRIPE_WEBHOOK_SECRET" => Some(SIGNING_SECRET.into()),
        _ => None,
    }
}

fn provider_at(base_url: &str, variable: impl Fn(&str) -> Option<OsString>) -> Arc<dyn PaymentProvider> {
    let clock: SharedClock = Arc::new(SystemClock);
    payment::provider_with(&billing("stripe", base_url), &OutgoingConfig::default(), &clock, variable)
}

async fn start() -> (Stripe, Arc<dyn PaymentProvider>) {
    let stripe = Stripe::start(SECRET_KEY).await.unwrap();
    let provider = provider_at(&stripe.base_url(), keys);
    (stripe, provider)
}

/// An order of ten dollars.
fn order(number: u128) -> Order {
    Order {
        id: PaymentId::from_bits(number),
        account: AccountId::from_bits(1),
        amount: 1_000,
        currency: "usd".parse().unwrap(),
        description: "10 credits & more".to_owned(),
        return_url: "http://127.0.0.1:8080/console?paid={CHECKOUT_SESSION_ID}".to_owned(),
    }
}
