//! Webhooks, from the end of a request to its receiver: a real service, real receivers, and signatures that are checked by
//! an implementation that is not ours.

mod delivering;
mod refusing;

use std::collections::BTreeMap;

use overnight_testkit::receiver::{Received, Receiver};
use serde_json::{Value, json};
use standardwebhooks::Webhook;
use tokio::runtime::Runtime;

use crate::support::{Running, World, wait_until};

/// Tries follow one another quickly, and there are four of them.
const QUICK: &str =
    "[webhooks]\nallow_insecure_targets = true\nretries = [\"200ms\", \"400ms\", \"600ms\"]\n";

/// A service that delivers, and somebody who receives.
pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) receiver: Receiver,
    serving: Option<Running>,
    _runtime: Runtime,
}

impl Stage {
    /// With these settings beside those of every world.
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

    /// Sends requests as one batch; its identifier.
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

    /// Waits until so many calls have come.
    fn wait_for(&self, count: usize) -> Vec<Received> {
        wait_until(&format!("{count} calls come"), || self.receiver.count() >= count);
        self.receiver.received()
    }

    /// Waits until every event has been delivered or given up; how many of each.
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

/// Whether somebody else's implementation believes it.
pub(crate) fn verified(secret: &str, received: &Received) -> bool {
    Webhook::new(secret).unwrap().verify(&received.body, &received.headers).is_ok()
}

fn json_of(received: &Received) -> Value {
    serde_json::from_slice(&received.body).unwrap()
}

/// A Create Request body whose end is to be told.
fn told(content: &str, webhook: &str) -> Value {
    json!({"request_body": crate::support::chat(content), "webhook": webhook})
}
