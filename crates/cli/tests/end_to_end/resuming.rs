//! An interrupted run continues with the same command, and creates no request twice.

use serde_json::Value;

use crate::support::{World, chats, lines, wait_until};

const RUN: &str = "run prompts.jsonl -o results.jsonl";

fn steps(world: &World) -> usize {
    std::fs::read(world.path("results.jsonl.run"))
        .map_or(0, |text| text.iter().filter(|byte| **byte == b'\n').count())
}

fn asked(world: &World) -> Vec<Value> {
    lines(&world.read("results.jsonl")).into_iter().map(|mut line| line["request_body"].take()).collect()
}

#[test]
fn a_run_that_was_killed_finishes_the_other_half_and_asks_nothing_twice() {
    let world = World::new();
    world.write("prompts.jsonl", &chats(1_500));
    for steps_at_least in [100, 800] {
        let mut running = world.start(RUN);
        wait_until("some lines are sent", || steps(&world) >= steps_at_least || running.has_ended());
        running.kill();
        assert!(!world.path("results.jsonl").exists());
    }
    let ran = world.run(RUN);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("going on: "), "{ran:?}");
    assert_eq!(asked(&world), lines(&chats(1_500)));
    let _serving = world.serve();
    assert_eq!(world.stored_requests(), 1_500);
    assert_eq!(world.json("audit")["is_sound"], true);
}

#[test]
fn requests_that_the_service_took_from_a_killed_client_are_found_again() {
    let world = World::new();
    let _serving = world.serve();
    // Equal lines are distinguished by their number.
    world.write("prompts.jsonl", &chats(400).repeat(3));
    for steps_at_least in [50, 400, 900] {
        let mut running = world.start(RUN);
        wait_until("some lines are sent", || steps(&world) >= steps_at_least || running.has_ended());
        running.kill();
    }
    assert_eq!(world.run(RUN).code, 0);
    assert_eq!(asked(&world), lines(&chats(400).repeat(3)));
    assert_eq!(world.stored_requests(), 1_200);
}

#[test]
fn a_submission_that_was_killed_goes_on_too() {
    let world = World::new();
    let _serving = world.serve();
    world.write("prompts.jsonl", &chats(1_000));
    let mut running = world.start("submit prompts.jsonl");
    let count = || std::fs::read(world.path("prompts.jsonl.submit")).map_or(0, |text| text.len());
    wait_until("some lines are sent", || count() > 20_000 || running.has_ended());
    running.kill();
    assert!(world.path("prompts.jsonl.submit").exists());
    assert_eq!(world.run("submit prompts.jsonl --wait").code, 0);
    assert_eq!(world.stored_requests(), 1_000);
    assert_eq!(world.json("list batches").as_array().unwrap().len(), 1);
}

#[test]
fn a_line_that_changed_while_others_were_in_doubt_is_sent_as_another_one() {
    let world = World::new();
    // Half of the lines are accepted immediately, the others within ten seconds: it is killed before it has sent them all.
    let settings = world.read("overnight.toml") + "[quotas]\nrequests_per_second = 20\n";
    world.write("overnight.toml", &settings);
    let _serving = world.serve();
    world.write("prompts.jsonl", &chats(400));
    let mut running = world.start("submit prompts.jsonl");
    let count = || std::fs::read(world.path("prompts.jsonl.submit")).map_or(0, |text| text.len());
    wait_until("some lines are sent", || count() > 5_000 || running.has_ended());
    running.kill();
    // As if the crash had preceded the first recorded answer.
    let journal = world.read("prompts.jsonl.submit");
    let begun = journal.lines().next().unwrap();
    world.write("prompts.jsonl.submit", &format!("{begun}\n"));
    let before = world.stored_requests();
    assert!(before > 0);
    let text = chats(400).replace("prompt 3\"", "prompt three\"");
    world.write("prompts.jsonl", &text);
    let ran = world.run("submit prompts.jsonl --wait");
    assert_eq!(ran.code, 0, "{ran:?}");
    // The request with the old text remains, if it was accepted.
    assert!((400..=401).contains(&world.stored_requests()));
    let batches = world.json("list batches");
    assert_eq!(batches[0]["requests_counts"]["total"], 400, "{batches}");
}

#[test]
fn ctrl_c_stops_a_run_cleanly_and_says_how_to_go_on() {
    let world = World::slow();
    world.engine.tune(|engine| engine.running_max = 2);
    world.write("prompts.jsonl", &chats(100));
    let running = world.start(RUN);
    wait_until("all lines are sent", || steps(&world) >= 103);
    running.signal("INT");
    let ended = running.end();
    assert_eq!(ended.code, 130, "{ended:?}");
    assert!(
        ended
            .stderr
            .contains("the same command goes on from here: overnight run prompts.jsonl -o results.jsonl")
    );
    assert!(!world.path("data/serve.json").exists() && !world.path("results.jsonl").exists());
    world.engine.tune(|engine| engine.running_max = 256);
    assert_eq!(world.run(RUN).code, 0);
    let _serving = world.serve();
    assert_eq!(world.stored_requests(), 100);
}

#[test]
fn a_run_that_ended_asks_only_for_what_is_new_or_changed() {
    let world = World::new();
    world.write("prompts.jsonl", &chats(10));
    assert_eq!(world.run(RUN).code, 0);
    let text = chats(12).replace("prompt 4", "prompt four");
    world.write("prompts.jsonl", &text);
    assert_eq!(world.run(RUN).code, 0);
    assert_eq!(asked(&world), lines(&text));
    let _serving = world.serve();
    assert_eq!(world.stored_requests(), 13);
}

#[test]
fn two_runs_into_one_file_are_kept_apart() {
    let world = World::slow();
    world.engine.tune(|engine| engine.running_max = 1);
    world.write("prompts.jsonl", &chats(20));
    let _running = world.start(RUN);
    wait_until("the first run sends", || steps(&world) >= 2);
    let second = world.run(RUN);
    assert_eq!(second.code, 2);
    assert!(second.stderr.contains("another run is using"), "{second:?}");
}
