//! Webhooks from the end of a request to its receiver: a real service, real receivers, and signatures checked by another implementation.

mod delivering;
mod refusing;

use std::collections::BTreeMap;

use overnight_testkit::receiver::{Received, Receiver};
use serde_json::{Value, json};
use standardwebhooks::Webhook;
use tokio::runtime::Runtime;

use crate::support::{Running, World, wait_until};

/// Four tries in quick succession.
const QUICK: &str =
    "[webhooks]\nallow_insecure_targets = true\nretries = [\"200ms\", \"400ms\", \"600ms\"]\n";

/// A service that delivers, and a receiver.
pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) receiver: Receiver,
    serving: Option<Running>,
    _runtime: Runtime,
}

impl Stage {
    /// With these settings added to the world's.
    fn with(settings: &str) -> Self {
        let world = World::new();
        let base = world.read("overnight.toml");
        let (before, models) = base.split_once("[[models]]").unwrap();
        world.write("overnight.toml", &format!("{before}{settings}[[models]]{models}"));
        let runtime = Runtime::new().unwrap();
        let receiver = runtime.block_on(Receiver::start()).unwrap();
        let serving = Some(world.serve());
        Self { world, receiver, serving, _runtime: runtime }
    }

    /// Sends requests as one batch; returns its identifier.
    fn submit(&self, webhook: Option<&str>, bodies: &[Value]) -> String {
        let lines: String = bodies.iter().map(|body| format!("{body}\n")).collect();
        self.world.write("some.jsonl", &lines);
        let webhook = webhook.map(|url| format!("--webhook {url}")).unwrap_or_default();
        let sent = self.world.json(&format!("submit some.jsonl {webhook}"));
        sent["id"].as_str().unwrap().to_owned()
    }

    /// The first account.
    fn account(&self) -> String {
        self.world.json("account list")[0]["id"].as_str().unwrap().to_owned()
    }

    fn of_account(&self, line: &str) -> Value {
        self.world.json(&format!("{line} --account {}", self.account()))
    }

    fn secret(&self) -> String {
        self.of_account("webhook secret")["secret"].as_str().unwrap().to_owned()
    }

    fn wait_for(&self, count: usize) -> Vec<Received> {
        wait_until(&format!("{count} calls come"), || self.receiver.count() >= count);
        self.receiver.received()
    }

    /// Waits until every event is delivered or a dead letter; returns their numbers.
    fn wait_for_ends(&self, count: usize) -> BTreeMap<String, usize> {
        let mut states = BTreeMap::new();
        wait_until(&format!("{count} events end"), || {
            states = BTreeMap::new();
            for event in self.of_account("webhook events").as_array().unwrap() {
                *states.entry(event["state"].as_str().unwrap().to_owned()).or_default() += 1;
            }
            states
                .iter()
                .filter(|(state, _)| ["delivered", "exhausted"].contains(&state.as_str()))
                .map(|it| it.1)
                .sum::<usize>()
                == count
        });
        states
    }

    fn audit(&self) {
        let ran = self.world.run("audit");
        assert_eq!(ran.code, 0, "{ran:?}");
    }
}

/// Whether another implementation accepts the signature.
pub(crate) fn verified(secret: &str, received: &Received) -> bool {
    Webhook::new(secret).unwrap().verify(&received.body, &received.headers).is_ok()
}

fn json_of(received: &Received) -> Value {
    serde_json::from_slice(&received.body).unwrap()
}

/// The body of a Create Request with a webhook.
fn told(content: &str, webhook: &str) -> Value {
    json!({"request_body": crate::support::chat(content), "webhook": webhook})
}
