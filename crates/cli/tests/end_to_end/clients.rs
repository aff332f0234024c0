//! Commands that call a running service.

use serde_json::{Value, json};

use crate::support::{World, chat, chats, lines};

const NOBODY: &str = "req_01jz8m3v6qf8jbk2w5n7y9t0xd";

#[test]
fn a_file_is_submitted_followed_and_read() {
    let world = World::new();
    let _serving = world.serve();
    world.write("prompts.jsonl", &chats(7));
    let submitted = world.run("submit prompts.jsonl --batch-name nightly");
    assert_eq!(submitted.code, 0, "{submitted:?}");
    let batch = submitted.stdout.trim();
    assert!(batch.starts_with("batch_"), "standard output holds the identifier alone: {submitted:?}");
    assert!(!world.path("prompts.jsonl.submit").exists());

    let watched = world.json(&format!("watch {batch}"));
    assert_eq!(
        (&watched["status"], &watched["requests_counts"]["completed"]),
        (&json!("completed"), &json!(7))
    );
    assert_eq!(world.json(&format!("status {batch}"))["id"], batch);
    let plain = world.run(&format!("status {batch}"));
    assert!(plain.stdout.contains("7 completed"), "{plain:?}");

    let results = world.run(&format!("results {batch}"));
    let records = lines(&results.stdout);
    assert_eq!(records.len(), 7);
    assert!(records.iter().all(|record| record["batch_id"] == batch && record["result_body"].is_object()));
    assert_eq!(world.run(&format!("results {batch} -o results.jsonl")).code, 0);
    assert_eq!(world.read("results.jsonl"), results.stdout);
    assert_eq!(world.json(&format!("results {batch}")).as_array().unwrap().len(), 7);

    let request = records[3]["id"].as_str().unwrap();
    assert_eq!(world.json(&format!("watch {request}"))["status"], "completed");
    assert_eq!(lines(&world.run(&format!("results {request}")).stdout)[0]["id"], request);
    assert_eq!(world.run(&format!("cancel {request}")).code, 3, "it has ended");
}

#[test]
fn requests_and_batches_are_listed_newest_first() {
    let world = World::new();
    let _serving = world.serve();
    world.write("prompts.jsonl", &chats(5));
    let submit = |name: &str| world.json(&format!("submit prompts.jsonl --wait --batch-name {name}"));
    assert_eq!(submit("one")["refused"], json!([]));
    let older = world.json("list requests --limit 0");
    assert_eq!(submit("two")["refused"], json!([]));
    let batches = world.json("list batches");
    let names: Vec<&Value> =
        batches.as_array().unwrap().iter().map(|batch| &batch["metadata"]["batch_name"]).collect();
    assert_eq!(names, ["two", "one"]);
    assert_eq!(world.json("list batches --limit 1").as_array().unwrap().len(), 1);
    assert_eq!(world.json("list batches --status cancelled"), json!([]));
    let requests = world.json("list requests --status completed --limit 6");
    let older: Vec<&Value> = older.as_array().unwrap().iter().map(|request| &request["id"]).collect();
    let is_older: Vec<bool> =
        requests.as_array().unwrap().iter().map(|request| older.contains(&&request["id"])).collect();
    assert_eq!(is_older, [false, false, false, false, false, true]);
    assert_eq!(world.json("list --limit 0").as_array().unwrap().len(), 10);
    assert!(world.run("list --limit 2").stdout.lines().count() == 3);
    assert_eq!(world.run("list --status sleeping").code, 2);
}

#[test]
fn a_batch_is_cancelled_and_watching_it_says_so() {
    let world = World::slow();
    world.engine.tune(|engine| engine.running_max = 1);
    let _serving = world.serve();
    world.write("prompts.jsonl", &chats(50));
    let batch = world.run("submit prompts.jsonl").stdout.trim().to_owned();
    let cancelled = world.json(&format!("cancel {batch}"));
    assert_eq!(cancelled["status"], "cancelled");
    let watched = world.run(&format!("watch {batch} --json"));
    assert_eq!(watched.code, 1);
    let watched: Value = serde_json::from_str(&watched.stdout).unwrap();
    assert!(watched["requests_counts"]["cancelled"].as_i64().unwrap() > 0);
    assert_eq!(world.run(&format!("results {batch}")).code, 1);
}

#[test]
fn lines_that_the_service_refuses_are_named_and_the_others_go_in() {
    let world = World::new();
    let _serving = world.serve();
    let other = json!({"model": "unknown", "messages": [{"role": "user", "content": "a"}]});
    world.write("prompts.jsonl", &format!("{}\n{other}\n{}\n", chat("a"), chat("b")));
    let submitted = world.run("submit prompts.jsonl --json --wait");
    assert_eq!(submitted.code, 1);
    assert!(submitted.stderr.contains("line 2 was refused"), "{submitted:?}");
    let submitted: Value = serde_json::from_str(&submitted.stdout).unwrap();
    assert_eq!(submitted["refused"][0]["line"], 2);
    assert_eq!(submitted["batches"][0]["requests_counts"]["completed"], 2);
    assert_eq!(submitted["id"], submitted["batches"][0]["id"]);
}

#[test]
fn a_wrong_key_an_unknown_identifier_and_an_absent_service_are_told_apart() {
    let world = World::new();
    let serving = world.serve();
    let with_key = |key: &str| world.command("list").env("OVERNIGHT_API_KEY", key).output().unwrap();
    let wrong = with_key("on_live_wrong");
    assert_eq!(wrong.status.code(), Some(3));
    assert!(String::from_utf8(wrong.stderr).unwrap().contains("hint: set OVERNIGHT_API_KEY"));
    assert_eq!(world.run(&format!("status {NOBODY}")).code, 3);
    serving.signal("INT");
    assert_eq!(serving.end().code, 0);
    let absent = world.run("list --url http://127.0.0.1:9");
    assert_eq!(absent.code, 4, "{absent:?}");
    assert!(absent.stderr.contains("overnight serve"), "{absent:?}");
}

#[test]
fn watching_is_stopped_by_ctrl_c_and_says_how_to_go_on() {
    let world = World::slow();
    world.engine.tune(|engine| engine.running_max = 1);
    let _serving = world.serve();
    world.write("prompts.jsonl", &chats(50));
    let waiting = world.start("submit prompts.jsonl --wait");
    crate::support::wait_until("the batch stands", || {
        !world.path("prompts.jsonl.submit").exists() && world.json("list batches") != json!([])
    });
    waiting.signal("INT");
    let ended = waiting.end();
    assert_eq!(ended.code, 130, "{ended:?}");
    assert!(ended.stderr.contains("overnight watch batch_"), "{ended:?}");
}

#[test]
fn results_are_followed_to_the_end_and_taken_up_behind_any_of_them() {
    let world = World::slow();
    world.write("prompts.jsonl", &chats(12));
    let _serving = world.serve();
    let batch = world.run("submit prompts.jsonl").stdout.trim().to_owned();
    let followed = world.run(&format!("results {batch} --follow"));
    assert_eq!((followed.code, followed.stderr.as_str()), (0, ""), "{followed:?}");
    let records = lines(&followed.stdout);
    assert_eq!(records.len(), 12);
    assert!(records.iter().all(|record| record["status"] == "completed"), "{followed:?}");
    let array = world.json(&format!("results {batch} --follow"));
    assert_eq!(array, Value::Array(records.clone()), "the order stays");
    let after = records[4]["id"].as_str().unwrap();
    for flag in ["", "--follow"] {
        let rest = world.run(&format!("results {batch} {flag} --after {after} -o rest.jsonl"));
        assert_eq!((rest.code, lines(&world.read("rest.jsonl"))), (0, records[5..].to_vec()), "{rest:?}");
    }
    let last = records[11]["id"].as_str().unwrap();
    let nothing = world.run(&format!("results {batch} --follow --after {last}"));
    assert_eq!((nothing.code, nothing.stdout.as_str()), (0, ""), "{nothing:?}");
    let request = world.run(&format!("results {after} --follow"));
    assert!(request.code == 2 && request.stderr.contains("overnight watch"), "{request:?}");
}
