//! A service that sells credits, and a simulated Stripe.

use overnight_app::api_keys::KeyDraft;
use overnight_app::payments::{self as orders, TopUp};
use overnight_app::{Services, accounts};
use overnight_config::OutgoingConfig;
use overnight_domain::money::EntryKind;
use overnight_outgoing::payment;
use overnight_store::identity::accounts::Account;
use overnight_testkit::stripe::{Stripe, sign};

use super::{SECRET_KEY, SIGNING_SECRET, keys};
use crate::support::{Answered, Client, TestApp};

/// A service that takes payments, one customer, and a simulated Stripe.
pub(super) struct Shop {
    pub(super) app: TestApp,
    pub(super) stripe: Stripe,
    pub(super) account: Account,
    pub(super) customer: Client,
}

pub(crate) async fn stand_in() -> Stripe {
    Stripe::start(SECRET_KEY).await.expect("a stand-in")
}

pub(crate) async fn start_selling(stripe: &Stripe) -> TestApp {
    let settings = [
        ("billing.provider", "stripe"),
        ("billing.stripe.base_url", &stripe.base_url()),
        ("billing.credit_price", "2"),
        ("billing.currency", "eur"),
    ];
    let with_stripe = |services: Services| {
        let payments = payment::provider_with(
            &services.config().billing,
            &OutgoingConfig::default(),
            &services.clock,
            keys,
        );
        Services { payments, ..services }
    };
    TestApp::start_changed(&settings, with_stripe).await
}

impl Shop {
    pub(super) async fn open() -> Self {
        let stripe = stand_in().await;
        let app = start_selling(&stripe).await;
        let account = accounts::create(&app.services, "customer").await.expect("an account");
        let customer = app.new_key(account.id, KeyDraft::PLAIN).await.0;
        Self { app, stripe, account, customer }
    }

    pub(super) async fn order(&self, credits: &str) -> TopUp {
        let credits = credits.parse().expect("credits");
        orders::top_up(&self.app.services, self.account.id, credits, None).await.expect("an order")
    }

    pub(super) fn now(&self) -> i64 {
        self.app.services.clock.now() / 1_000
    }

    /// Delivers an event to the service as Stripe does.
    pub(super) async fn tell(&self, event: &[u8]) -> Answered {
        let signature = sign(event, SIGNING_SECRET, self.now());
        self.tell_signed(event, &signature).await
    }

    pub(super) async fn tell_signed(&self, event: &[u8], signature: &str) -> Answered {
        let client = self.app.anonymous().with("stripe-signature", signature);
        client
            .with("content-type", "application/json; charset=utf-8")
            .send("POST", "/hooks/stripe", event.to_vec())
            .await
    }

    pub(super) async fn tell_all(&self, events: &[Vec<u8>]) {
        for event in events {
            assert_eq!(self.tell(event).await.status, 200);
        }
    }

    /// The kinds and amounts of the ledger's entries, oldest first.
    pub(super) async fn ledger(&self) -> Vec<(EntryKind, String)> {
        let services = &self.app.services;
        let entries = accounts::list_entries(services, &self.account, None, None, 100).await;
        let entries = entries.expect("the ledger").rows.into_iter().rev();
        entries.map(|entry| (entry.kind, entry.amount.to_string())).collect()
    }

    pub(super) async fn available(&self) -> String {
        accounts::get(&self.app.services, self.account.id).await.expect("the account").available().to_string()
    }
}

pub(super) fn session_of(top_up: &TopUp) -> &str {
    top_up.url.rsplit('/').next().expect("a session")
}

pub(super) fn entry(kind: EntryKind, amount: &str) -> (EntryKind, String) {
    (kind, amount.to_owned())
}
