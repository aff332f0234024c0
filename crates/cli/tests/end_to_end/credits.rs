//! Credits through the operator's commands, and the answers to clients.

use serde_json::{Value, json};

use crate::support::{Ran, World, chats};

/// A world with a price of one credit for a thousand tokens read, and two for a thousand written.
fn priced() -> World {
    let world = World::new();
    let settings = world.read("overnight.toml");
    let prices = "name = \"m\"\ninput_price = \"1000\"\noutput_price = \"2000\"\n";
    world.write("overnight.toml", &settings.replace("name = \"m\"\n", prices));
    world
}

/// Creates an account with activated payments and these credits; returns its identifier and a key.
fn account(world: &World, credits: &str) -> (String, String) {
    let id = world.json("account create --name customer")["id"].as_str().unwrap().to_owned();
    world.json(&format!("account activate {id}"));
    world.json(&format!("account grant {id} {credits}"));
    let key = world.json(&format!("key create --account {id}"))["key"].as_str().unwrap().to_owned();
    (id, key)
}

fn run_with(world: &World, key: &str, line: &str) -> Ran {
    world.command(line).env("OVERNIGHT_API_KEY", key).output().unwrap().into()
}

#[test]
fn an_account_is_activated_granted_and_looked_at_without_a_service() {
    let world = World::new();
    let made = world.json("account create --name research");
    let id = made["id"].as_str().unwrap();
    for (name, value) in [
        ("name", json!("research")),
        ("balance", json!("0")),
        ("held", json!("0")),
        ("available", json!("0")),
        ("payments_activated", json!(false)),
    ] {
        assert_eq!(made[name], value, "{name}");
    }
    assert_eq!(world.json(&format!("account activate {id}"))["payments_activated"], true);
    assert_eq!(world.json(&format!("account grant {id} 12.5"))["balance"], "12.5");
    let invoice = format!("account grant {id} 10 --source invoice-17");
    assert_eq!(world.json(&invoice)["balance"], "22.5");
    let again = world.run(&invoice);
    assert!(again.code == 0 && again.stderr.contains("nothing changed"), "{again:?}");
    assert_eq!(world.run(&format!("account grant {id} 11 --source invoice-17")).code, 2, "another amount");
    assert_eq!(world.json(&format!("account grant {id} -2.5"))["available"], "20");
    assert_eq!(world.json(&format!("account payments {id} --check")), json!([]));
    for amount in ["-20.1", "0", "1e3", "0.0000000001", "2000000000"] {
        assert_eq!(world.run(&format!("account grant {id} {amount}")).code, 2, "{amount}");
    }
    assert_eq!(world.json(&format!("account show {id}"))["balance"], "20");

    let ledger = world.json(&format!("account ledger {id}"));
    let told: Vec<_> = ledger.as_array().unwrap().iter().map(|entry| entry["amount"].clone()).collect();
    assert_eq!(told, ["-2.5", "10", "12.5"]);
    assert_eq!((&ledger[1]["kind"], &ledger[1]["source"]), (&json!("grant"), &json!("invoice-17")));
    assert_eq!(world.json(&format!("account ledger {id} --limit 1")).as_array().unwrap().len(), 1);
    assert_eq!(world.json(&format!("account ledger {id} --kind charge")), json!([]));
    assert_eq!(world.json(&format!("account spend {id}")), json!([]));
    let top_up = world.run(&format!("account top-up {id} 5"));
    assert!(top_up.code == 3 && top_up.stderr.contains("account grant"), "{top_up:?}");
    let table = world.run(&format!("account show {id}"));
    assert!(table.stdout.contains("available  20\n"), "{table:?}");
}

#[test]
fn without_payments_a_key_does_nothing_and_is_told_why() {
    let world = World::new();
    let _serving = world.serve();
    let id = world.json("account create --name new")["id"].as_str().unwrap().to_owned();
    let key = world.json(&format!("key create --account {id}"))["key"].as_str().unwrap().to_owned();
    let refused = run_with(&world, &key, "list");
    assert!(refused.code == 3 && refused.stderr.contains("overnight account activate"), "{refused:?}");
    world.json(&format!("account activate {id}"));
    assert_eq!(run_with(&world, &key, "list").code, 0);
}

#[test]
fn a_file_is_priced_without_being_sent_and_then_holds_what_was_said() {
    let world = priced();
    // Requests hold credits during their aggregation period, which outlasts the test.
    world.write("overnight.toml", &world.read("overnight.toml").replace("\"50ms\"", "\"1h\""));
    let _serving = world.serve();
    let (id, key) = account(&world, "0.5");
    world.write("few.jsonl", &chats(3));
    let quote = run_with(&world, &key, "submit few.jsonl --dry-run --json");
    assert_eq!(quote.code, 0, "{quote:?}");
    let quote: Value = serde_json::from_str(&quote.stdout).unwrap();
    let model = &quote["models"][0];
    assert_eq!(
        (&model["model"], &model["requests"], &model["output_tokens"]),
        (&json!("m"), &json!(3), &json!(12))
    );
    assert_eq!((&quote["available"], &quote["suffices"]), (&json!("0.5"), &json!(true)));
    let cost = quote["cost"].as_str().unwrap();

    let plain = run_with(&world, &key, "submit few.jsonl --dry-run");
    assert!(
        plain.stdout.contains(&format!("cost {cost} credits at most; 0.5 available: enough")),
        "{plain:?}"
    );
    world.write("many.jsonl", &chats(40));
    let plain = run_with(&world, &key, "submit many.jsonl --dry-run");
    assert!(plain.code == 1 && plain.stdout.contains("not enough"), "{plain:?}");
    world.write(
        "wrong.jsonl",
        "{\"model\": \"nobody\", \"messages\": [{\"role\": \"user\", \"content\": \"a\"}]}\n",
    );
    let wrong = run_with(&world, &key, "submit wrong.jsonl --dry-run");
    assert!(wrong.code == 1 && wrong.stderr.contains("line 1 would be refused"), "{wrong:?}");

    assert_eq!(run_with(&world, &key, "list --json").stdout.trim(), "[]");
    assert_eq!(run_with(&world, &key, "submit few.jsonl --quiet").code, 0);
    assert_eq!(world.json(&format!("account show {id}"))["held"], cost);
}

#[test]
fn a_file_beyond_the_credits_goes_on_after_a_grant_and_the_bill_adds_up() {
    let world = priced();
    let _serving = world.serve();
    let (id, key) = account(&world, "1");
    world.write("prompts.jsonl", &chats(60));
    let stopped = run_with(&world, &key, "submit prompts.jsonl --wait");
    assert!(stopped.code == 3 && stopped.stderr.contains("overnight account grant"), "{stopped:?}");
    assert!(world.path("prompts.jsonl.submit").exists());
    let rest = run_with(&world, &key, "submit prompts.jsonl --dry-run");
    assert!(rest.code == 1 && rest.stderr.contains("lines were sent before"), "{rest:?}");
    world.json(&format!("account grant {id} 10"));
    let ended = run_with(&world, &key, "submit prompts.jsonl --wait");
    assert_eq!(ended.code, 0, "{ended:?}");

    let show = world.json(&format!("account show {id}"));
    assert_eq!(show["held"], "0");
    let charges = world.json(&format!("account ledger {id} --kind charge"));
    let charges = charges.as_array().unwrap();
    assert_eq!(charges.len(), 60);
    assert!(charges[0]["request"].as_str().unwrap().starts_with("req_") && charges[0]["model"] == "m");
    let spend = world.json(&format!("account spend {id} --by model"));
    assert_eq!((&spend[0]["model"], &spend[0]["requests"]), (&json!("m"), &json!(60)));
    let by_key = world.json(&format!("account spend {id} --by key,model"));
    let [record] = by_key.as_array().unwrap().as_slice() else { panic!("{by_key}") };
    assert!(record["api_key_id"].as_str().unwrap().starts_with("key_"), "{record}");
    assert_eq!(
        (&record["requests"], &record["day"], &record["model"]),
        (&json!(60), &json!(null), &json!("m"))
    );
    let table = world.run(&format!("account spend {id} --by key")).stdout;
    assert!(table.contains("API KEY") && table.contains(record["api_key_id"].as_str().unwrap()), "{table}");
    let number = |value: &Value| value.as_str().unwrap().parse::<f64>().unwrap();
    let (balance, spent) = (number(&show["balance"]), number(&spend[0]["credits"]));
    assert!((balance + spent - 11.0).abs() < 1e-9, "{balance} and {spent}");
    assert_eq!(world.json("audit")["is_sound"], true);
}

#[test]
fn the_engine_is_sent_the_limit_that_was_held_whatever_the_settings_say_later() {
    let world = priced();
    let settings = world.read("overnight.toml");
    let with = |limit: u32, period: &str| {
        let settings =
            settings.replace("name = \"m\"\n", &format!("name = \"m\"\ndefault_max_tokens = {limit}\n"));
        world.write("overnight.toml", &settings.replace("\"50ms\"", period));
    };
    with(5, "\"2s\"");
    let serving = world.serve();
    let (_, key) = account(&world, "10");
    world
        .write("one.jsonl", "{\"model\": \"m\", \"messages\": [{\"role\": \"user\", \"content\": \"a\"}]}\n");
    let batch = run_with(&world, &key, "submit one.jsonl --quiet").stdout.trim().to_owned();
    serving.kill();
    std::fs::remove_file(world.path("data/serve.json")).unwrap();
    with(12, "\"2s\"");
    let _serving = world.serve();
    assert_eq!(run_with(&world, &key, &format!("watch {batch} --quiet")).code, 0);
    let result = run_with(&world, &key, &format!("results {batch}")).stdout;
    assert!(result.contains("\"completion_tokens\":5"), "{result}");
}
