//! `overnight explain` with and without a running service.

use overnight_testkit::engine::{CostModel, SimConfig, Speed};

use crate::support::{World, chats, wait_until};

#[test]
fn a_request_that_waits_is_explained_and_one_that_has_ended() {
    // The queue outlasts any wait for a processor: a request takes seconds, and they run one at a time.
    let cost = CostModel { output_tokens_per_second: 1.0, ..CostModel::default() };
    let world = World::with(SimConfig { speed: Speed::Modelled(cost), ..SimConfig::default() });
    world.engine.tune(|engine| engine.running_max = 1);
    world.write("prompts.jsonl", &chats(200));
    let serving = world.serve();
    world.json("submit prompts.jsonl");
    let waits = || {
        let listed = world.json("list requests --status registered --limit 1");
        let id = listed[0]["id"].as_str().unwrap_or_default().to_owned();
        let explained = world.json(&format!("explain {id}"));
        (explained["status"] == "registered" && explained["place"].is_object()).then_some((id, explained))
    };
    let mut found = None;
    wait_until("one stands in the queue", || {
        found = waits();
        found.is_some()
    });
    let (id, explained) = found.unwrap();
    let place = &explained["place"];
    assert!(place["waiting_before"].as_i64().unwrap() <= place["waiting"].as_i64().unwrap(), "{explained}");
    let engine = &explained["engines"][0];
    assert_eq!(engine["name"], "sim", "{explained}");
    // The scheduler lowers it from 32 while such an engine makes requests wait.
    assert!((1..=32).contains(&engine["max_concurrency"].as_u64().unwrap()), "{explained}");
    assert_eq!(explained["accounts"][0]["account"], explained["account"]);
    assert!(explained["waiting_for"]["sentence"].as_str().unwrap().contains("waits for its turn"));
    let plain = world.run(&format!("explain {id}"));
    assert_eq!(plain.code, 0, "{plain:?}");
    for word in ["status", "model", "order", "prompt", "engine", "slots in use", "queue"] {
        assert!(plain.stdout.contains(word), "{word}: {plain:?}");
    }
    world.json(&format!("cancel {id}"));
    drop(serving);
    let ended = world.json(&format!("explain {id}"));
    assert_eq!((&ended["status"], &ended["place"]), (&"cancelled".into(), &serde_json::Value::Null));
    assert_eq!(world.run("explain req_01jz8m3v6qf8jbk2w5n7y9t0xd").code, 3, "nobody's");
    assert_eq!(world.run("explain batch_01jz8m3v6qf8jbk2w5n7y9t0xd").code, 2, "no request");
}

#[test]
fn the_words_of_an_engine_that_refuses_are_shown() {
    let world = World::new();
    let settings = "listen = \"127.0.0.1:0\"\ndata_dir = \"data\"\naggregation_period = \"50ms\"\n[[models]]\nname = \"m\"\n[[engines]]\nname = \"gone\"\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\n";
    world.write("overnight.toml", settings);
    world.write("prompts.jsonl", &chats(2));
    let _serving = world.serve();
    world.json("submit prompts.jsonl");
    let id = world.json("list requests --limit 1")[0]["id"].as_str().unwrap().to_owned();
    // A request that was tried is in progress, and then waits again.
    wait_until("it is told why", || world.json(&format!("explain {id}"))["waiting_for"]["words"].is_string());
    let plain = world.run(&format!("explain {id}"));
    assert!(plain.stdout.contains("gone on ") && plain.stdout.contains(": paused"), "{plain:?}");
}
