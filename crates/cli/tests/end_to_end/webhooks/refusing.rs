//! Addresses that a service refuses by default.

use super::{Stage, told};

/// Two tries and no allowances.
const STRICT: &str = "[webhooks]\nretries = [\"100ms\"]\n";

/// Checks that every event fails after two tries, and the receiver gets nothing.
fn check_unheard(stage: &Stage, webhooks: &[String], failure: &str) {
    let bodies: Vec<_> = webhooks.iter().map(|webhook| told("something", webhook)).collect();
    stage.submit(None, &bodies);
    assert_eq!(stage.wait_for_ends(webhooks.len())["exhausted"], webhooks.len());
    let deliveries = stage.of_account("webhook deliveries");
    let deliveries = deliveries.as_array().unwrap();
    assert_eq!(deliveries.len(), 2 * webhooks.len());
    for delivery in deliveries {
        assert_eq!(delivery["failure"], failure, "{delivery}");
        assert!(delivery["status"].is_null());
    }
    assert_eq!(stage.receiver.count(), 0);
    stage.audit();
}

#[test]
fn inner_addresses_are_not_called() {
    let stage = Stage::with(STRICT);
    let port = stage.receiver.address().port();
    let names = ["localhost", "LOCALHOST"];
    check_unheard(&stage, &names.map(|host| format!("https://{host}:{port}/")), "refused_address");
    let literals =
        ["127.0.0.1", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "127.0.0.1.", "169.254.169.254"];
    for literal in literals {
        check_refused(&stage, &format!("https://{literal}:{port}/"), "public internet");
    }
    check_refused(&stage, &stage.receiver.url("/"), "https");
}

/// Checks that a file is refused because of its batch's webhook.
fn check_refused(stage: &Stage, webhook: &str, part: &str) {
    let before = stage.world.stored_requests();
    let refused = stage.world.run(&format!("submit some.jsonl --webhook {webhook}"));
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains(part) && !refused.stderr.contains("the same command"), "{refused:?}");
    assert_eq!(stage.world.stored_requests(), before);
}

#[test]
fn neither_the_service_itself_nor_its_engine_is_called_whatever_is_allowed() {
    let stage = Stage::with(&format!("{STRICT}allow_insecure_targets = true\n"));
    let served = stage.world.read("data/serve.json");
    let served: serde_json::Value = serde_json::from_str(&served).unwrap();
    let own = served["url"].as_str().unwrap().to_owned();
    let engine = stage.world.engine.base_url();
    check_unheard(
        &stage,
        &[format!("{own}/v1/requests"), format!("{engine}/completions")],
        "refused_address",
    );
    let heard = stage.world.engine.counters();
    assert_eq!((heard.arrived, heard.rejected), (2, 0), "the engine hears of two requests and of no webhook");
}
