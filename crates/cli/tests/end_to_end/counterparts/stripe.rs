//! Stripe's own library, and the Stripe of npm's `emulate`.

use std::fs::File;
use std::net::TcpListener;
use std::process::Stdio;

use overnight_testkit::stripe::{Stripe, sign, thin};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::{node, serve};
use crate::support::{Ran, Running, World};

const SECRET_KEY: &str = "sk_test_4eC39HqLyjWDarjtT1zdp7dc";
const SIGNING_SECRET: &str = "whsec_test_secret";
const KEYS: [(&str, &str); 2] =
    [("STRIPE_SECRET_KEY", SECRET_KEY), ("STRIPE_WEBHOOK_SECRET", SIGNING_SECRET)];

/// A world that sells credits through the Stripe at this address.
fn shop(stripe: &str) -> World {
    let world = World::new();
    let settings = world.read("overnight.toml");
    let billing =
        format!("[billing]\nprovider = \"stripe\"\n[billing.stripe]\nbase_url = \"{stripe}\"\n[[models]]");
    world.write("overnight.toml", &settings.replace("[[models]]", &billing));
    world
}

fn order(world: &World, account: &str, amount: &str) -> Ran {
    world.command(&format!("account top-up {account} {amount} --json")).envs(KEYS).output().unwrap().into()
}

fn now() -> i64 {
    let since = std::time::UNIX_EPOCH.elapsed().unwrap();
    i64::try_from(since.as_secs()).unwrap()
}

fn signed(body: &[u8]) -> Value {
    json!({"body": String::from_utf8_lossy(body), "signature": sign(body, SIGNING_SECRET, now())})
}

#[test]
fn what_the_official_library_signs_is_booked_and_it_reads_what_our_stand_in_shows() {
    let runtime = Runtime::new().unwrap();
    let stripe = runtime.block_on(Stripe::start(SECRET_KEY)).unwrap();
    let world = shop(&stripe.base_url());
    let (mut serving, url) = serve(&world, &KEYS);
    let account = world.json("account create --name customer")["id"].as_str().unwrap().to_owned();
    let orders: Vec<Value> = ["12.5", "7"]
        .iter()
        .map(|amount| {
            let ordered = order(&world, &account, amount);
            assert_eq!(ordered.code, 0, "{ordered:?}");
            let ordered: Value = serde_json::from_str(&ordered.stdout).unwrap();
            let session = ordered["url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
            let event = stripe.pay(&session).events.remove(0);
            json!({
                "payment": ordered["payment"], "session": session,
                "snapshot": signed(&event), "thin": signed(&thin(&event)),
            })
        })
        .collect();
    let mut script = node("stripe.js", "stripe");
    script.envs(KEYS).env("SERVICE_URL", &url).env("STRIPE_URL", stripe.base_url());
    let ran = Ran::from(script.env("ORDERS", json!(orders).to_string()).output().unwrap());
    assert_eq!(ran.code, 0, "{}\n{}\n{}", ran.stdout, ran.stderr, world.read("log"));
    let shown = world.json(&format!("account show {account}"));
    assert_eq!((&shown["balance"], &shown["payments_activated"]), (&json!("19.5"), &json!(true)));
    assert_eq!(world.json(&format!("account ledger {account}")).as_array().unwrap().len(), 2);
    assert!(!serving.has_ended());
}

#[test]
fn the_stripe_of_emulate_is_told_apart_and_believed_by_its_signature() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let world = shop(&format!("http://127.0.0.1:{port}"));
    let (mut serving, url) = serve(&world, &KEYS);
    let account = world.json("account create --name customer")["id"].as_str().unwrap().to_owned();
    let mut script = node("emulate-stripe.js", "emulate");
    script.envs(KEYS).env("SERVICE_URL", &url).env("PORT", port.to_string()).stdin(Stdio::piped());
    let mut emulator = Running::of(script.stderr(File::create(world.path("emulate")).unwrap()));
    let said = emulator.line();
    assert_eq!(said, "ready\n", "{}\n{}", world.read("emulate"), world.read("log"));

    let refused = order(&world, &account, "5");
    assert_eq!(refused.code, 3, "{refused:?}");
    assert!(refused.stderr.contains("Missing required param: line_items[0][price]"), "{refused:?}");
    let shown = world.json(&format!("account show {account}"));
    assert_eq!((&shown["balance"], &shown["payments_activated"]), (&json!("0"), &json!(false)));
    assert!(!serving.has_ended());
}
