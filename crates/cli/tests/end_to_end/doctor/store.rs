//! Checks of stored state: backups, log, and leases of processes without a sign of life.

use std::fs::{self, File};

use overnight_testkit::engine::{CostModel, SimConfig, Speed};
use overnight_testkit::postgres::Cluster;
use serde_json::Value;

use super::{examine, state, told};
use crate::support::{Running, World, chats, wait_until};

#[test]
fn a_backup_that_is_missing_old_or_out_of_reach_is_found() {
    let world = World::answered();
    let settings = world.read("overnight.toml");
    let backups = |age: &str| {
        world.write("overnight.toml", &format!("backup_max_age = \"{age}\"\n{settings}"));
        let (ran, report) = examine(&world);
        assert_eq!(ran.code, 0, "{report}");
        (state(&report, "backups").to_owned(), told(&report, "backups"))
    };
    let (state, words) = backups("1d");
    assert!(state == "warn" && words.contains("`overnight backup` has taken none of this folder"), "{words}");
    world.json("backup kept");
    let (state, words) = backups("1d");
    assert!(state == "ok" && words.contains("kept is of 20"), "{words}");
    let (state, words) = backups("1ms");
    assert!(state == "warn" && words.contains("and `backup_max_age` is"), "{words}");
    for file in fs::read_dir(world.path("kept/backups")).unwrap() {
        fs::remove_file(file.unwrap().path()).unwrap();
    }
    let (state, words) = backups("1d");
    assert!(state == "warn" && words.contains("kept holds none any more"), "{words}");
    fs::rename(world.path("kept"), world.path("moved")).unwrap();
    let (state, words) = backups("1d");
    assert!(state == "warn" && words.contains("kept is no repository of backups"), "{words}");
    let (state, words) = backups("0s");
    assert!(state == "ok" && words.contains("their age is not watched"), "{words}");
}

#[test]
fn a_log_that_is_not_copied_into_the_database_is_found() {
    let world = World::new();
    fs::create_dir(world.path("data")).unwrap();
    let log = File::create(world.path("data/overnight.db-wal")).unwrap();
    for (bytes, expected) in [((1 << 30) - 1, "ok"), (1 << 30, "warn")] {
        log.set_len(bytes).unwrap();
        assert_eq!(state(&examine(&world).1, "write-ahead log"), expected, "{bytes}");
    }
}

/// Requests at a slow engine, in a service whose leases last one second.
fn leased(database_url: &str) -> (World, Running) {
    let speed = Speed::Modelled(CostModel { output_tokens_per_second: 10.0, ..CostModel::default() });
    let world = World::with(SimConfig { speed, completion_tokens: 50_000..=50_000, ..SimConfig::default() });
    let settings = world.read("overnight.toml");
    world.write("overnight.toml", &format!("lease = \"1s\"\ndatabase_url = \"{database_url}\"\n{settings}"));
    let serving = world.serve();
    world.write("prompts.jsonl", &chats(40).replace("\"max_tokens\":4", "\"max_tokens\":100000"));
    world.json("submit prompts.jsonl");
    wait_until("requests are with the engine", || {
        let words = told(&examine(&world).1, "leases");
        words.contains("leased requests: ") && !words.contains("leased requests: 0")
    });
    (world, serving)
}

fn wait_for(world: &World, expected: &str, words: &str) -> Value {
    let mut report = Value::Null;
    wait_until(words, || {
        report = examine(world).1;
        state(&report, "leases") == expected && told(&report, "leases").contains(words)
    });
    report
}

#[test]
fn requests_that_are_leased_to_a_process_that_hangs_are_found() {
    let (world, serving) = leased("sqlite");
    serving.signal("STOP");
    let report = wait_for(&world, "fail", "no node lives: start one, or restart one that hangs");
    assert!(told(&report, "leases").contains("leased requests"), "{report}");
    serving.signal("CONT");
    wait_for(&world, "ok", "nodes that live: 1");
    serving.kill();
    wait_for(&world, "ok", "leased requests back");
}

#[test]
fn requests_that_are_leased_to_a_node_that_is_gone_are_found() {
    let url = Cluster::shared().database("doctor_leases").unwrap();
    let (world, serving) = leased(&url);
    serving.kill();
    wait_for(&world, "fail", "leased requests");
    let _serving = world.serve();
    wait_for(&world, "ok", "nodes that live: 1");
}
