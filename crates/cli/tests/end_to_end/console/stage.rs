//! A service with its simulated providers, and a browser.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};

use overnight_testkit::receiver::Receiver;
use overnight_testkit::stripe::{Stripe, sign};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::support::{Running, World};

const SECRET_KEY: &str = "sk_test_4eC39HqLyjWDarjtT1zdp7dc";
const SIGNING_SECRET: &str = "whsec_test_secret";

/// The prefix of a story's line that asks for an action.
const ASK: &str = "@ask ";

/// Takes payments, charges for the model, and delivers webhooks to this machine with one retry.
const SETTINGS: &str = "[billing]\nprovider = \"stripe\"\n[billing.stripe]\nbase_url = \"{stripe}\"\n\
    [webhooks]\nallow_insecure_targets = true\nretries = [\"200ms\"]\n";
const PRICES: &str = "name = \"m\"\ninput_price = \"1000\"\noutput_price = \"2000\"\n";

pub(super) struct Stage {
    story: &'static str,
    world: World,
    stripe: Stripe,
    receiver: Receiver,
    serving: Running,
    /// The service's start message.
    told: Value,
    _runtime: Runtime,
}

impl Stage {
    pub(super) fn set(story: &'static str) -> Self {
        let world = World::new();
        let runtime = Runtime::new().unwrap();
        let stripe = runtime.block_on(Stripe::start(SECRET_KEY)).unwrap();
        let receiver = runtime.block_on(Receiver::start()).unwrap();
        let base = world.read("overnight.toml").replace("name = \"m\"\n", PRICES);
        let (before, models) = base.split_once("[[models]]").unwrap();
        let settings = SETTINGS.replace("{stripe}", &stripe.base_url());
        world.write("overnight.toml", &format!("{before}{settings}[[models]]{models}"));
        let mut command = world.command("serve --json --quiet");
        command.env("STRIPE_SECRET_KEY", SECRET_KEY).env("STRIPE_WEBHOOK_SECRET", SIGNING_SECRET);
        let mut serving = Running::of(command.stderr(File::create(world.path("log")).unwrap()));
        let told = serving.line();
        let told = serde_json::from_str(&told)
            .unwrap_or_else(|error| panic!("{error}: {told:?}; {}", world.read("log")));
        Self { story, world, stripe, receiver, serving, told, _runtime: runtime }
    }

    /// Runs it to its end; it must succeed.
    pub(super) fn play(mut self) {
        let mut command = Command::new("node");
        command.arg("run.js").arg(self.story).current_dir(scripts());
        command
            .env("CONSOLE_URL", self.told["url"].as_str().unwrap())
            .env("CONSOLE_SIGN_IN_URL", self.told["sign_in_url"].as_str().unwrap())
            .env("CONSOLE_API_KEY", self.world.read("data/api-key").trim())
            .env("CONSOLE_RECEIVER_URL", self.receiver.url(""))
            .env("CONSOLE_PICTURES", pictures());
        let mut child = match command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() {
            Ok(child) => child,
            Err(error) => panic!("node does not start ({error}). ./scripts/test installs what tests need."),
        };
        let mut answers = child.stdin.take().unwrap();
        let mut said = String::new();
        for line in BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap) {
            match line.strip_prefix(ASK) {
                Some(ask) => self.answer(&serde_json::from_str(ask).unwrap(), &mut answers),
                None => said = format!("{said}{line}\n"),
            }
        }
        let status = child.wait().unwrap();
        let service = if self.serving.has_ended() { "has ended" } else { "is there" };
        let log = self.world.read("log");
        assert!(status.success(), "{}: {said}\nThe service {service}. Its log:\n{log}", self.story);
        assert_eq!(service, "is there", "{log}");
    }

    fn answer(&self, ask: &Value, answers: &mut ChildStdin) {
        let text = |name: &str| ask[name].as_str().unwrap_or_default();
        let answer = match text("what") {
            "command" => self.world.json(text("line")),
            "pay" => self.pay(text("session"), ask["at"].as_i64().unwrap()),
            "delay answers" => {
                self.world.engine.tune(|engine| engine.base_latency_ms = ask["ms"].as_u64().unwrap());
                Value::Null
            }
            other => panic!("a story asked for {other:?}"),
        };
        writeln!(answers, "{answer}").unwrap();
    }

    /// A payment: the provider's signed event.
    fn pay(&self, session: &str, at: i64) -> Value {
        let events = self.stripe.pay(session).events;
        let signed = events.iter().map(|body| {
            json!({"body": String::from_utf8_lossy(body), "signature": sign(body, SIGNING_SECRET, at)})
        });
        signed.collect()
    }
}

fn scripts() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser");
    let is_there =
        folder.join("node_modules/playwright-core").exists() && folder.join("node_modules/axe-core").exists();
    assert!(
        is_there,
        "node_modules is missing in crates/cli/tests/browser. ./scripts/test installs what tests need."
    );
    folder
}

fn pictures() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("console-screenshots")
}
