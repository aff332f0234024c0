//! The whole service with engines that it starts and stops.

use std::fmt::Write as _;
use std::net::TcpListener;

use serde_json::Value;

use super::program::engine_in_shell;
use super::{is_there, pids};
use crate::support::{World, wait_until};

/// A folder whose settings have one engine each for the models `a` and `b`, which share one device. Each script runs before its engine
/// serves, and adds its process id to the file `pids`.
fn world(settings: &str, before: [&str; 2]) -> (World, [u16; 2]) {
    let world = World::new();
    let mut text =
        "listen = \"127.0.0.1:0\"\ndata_dir = \"data\"\naggregation_period = \"50ms\"\n".to_owned();
    let ports = [0, 1].map(|_| TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port());
    for ((model, port), before) in ["a", "b"].into_iter().zip(ports).zip(before) {
        write!(
            text,
            "[[models]]\nname = \"{model}\"\n[[engines]]\nname = \"{model}\"\nkind = \"command\"\n\
             base_url = \"http://127.0.0.1:{port}/v1\"\nmodels = {{ \"{model}\" = \"m\" }}\n\
             command = [\"sh\", \"-c\", \"\"\"echo $$ >> pids; {before} {}\"\"\"]\nworking_dir = \"{}\"\n\
             start_after = \"100ms\"\nexclusive = \"gpu\"\n{settings}\n",
            engine_in_shell(port),
            world.folder.path().display(),
        )
        .unwrap();
    }
    world.write("overnight.toml", &text);
    for model in ["a", "b"] {
        let line = |number: usize| {
            let words = format!("question {number} of {model}");
            format!(
                "{{\"model\": \"{model}\", \"messages\": [{{\"role\": \"user\", \"content\": \"{words}\"}}]}}\n"
            )
        };
        world.write(&format!("{model}.jsonl"), &(0..40).map(line).collect::<String>());
    }
    (world, ports)
}

fn are_free(ports: [u16; 2]) -> bool {
    ports.iter().all(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
}

fn running(world: &World) -> usize {
    pids(&world.path("pids")).into_iter().filter(|pid| is_there(*pid)).count()
}

/// The explanation of the newest request.
fn explain(world: &World) -> Value {
    let requests = world.json("list requests --limit 1");
    world.json(&format!("explain {}", requests[0]["id"].as_str().unwrap()))
}

#[test]
fn engines_are_started_for_their_work_one_at_a_time_and_stopped_when_idle() {
    let (world, ports) = world("idle_stop = \"1s\"", ["", ""]);
    let serving = world.serve();
    assert!(pids(&world.path("pids")).is_empty(), "there is no work");
    let batches = ["a", "b"].map(|model| world.run(&format!("submit {model}.jsonl")));
    for batch in &batches {
        assert_eq!(batch.code, 0, "{batch:?}");
    }
    let is_done = |batch: &str| {
        assert!(running(&world) <= 1, "two have the device");
        world.json(&format!("status {batch}"))["status"] == "completed"
    };
    for batch in &batches {
        wait_until("the batch is completed", || is_done(batch.stdout.trim()));
    }
    assert_eq!(pids(&world.path("pids")).len(), 2, "each was started once");
    wait_until("the last one is stopped", || running(&world) == 0 && are_free(ports));
    world.write("again.jsonl", &world.read("a.jsonl"));
    let again = world.run("submit again.jsonl --wait");
    assert_eq!((again.code, pids(&world.path("pids")).len()), (0, 3), "{again:?}");
    serving.signal("TERM");
    assert_eq!(serving.end().code, 0);
    assert!(running(&world) == 0 && are_free(ports), "the service leaves nothing behind");
}

#[test]
fn a_service_that_is_killed_leaves_no_engine_behind_and_its_successor_finishes_the_work() {
    // The engine's first start never finishes.
    let (world, ports) = world("", ["[ -e once ] || { touch once; sleep 1000; };", ""]);
    let serving = world.serve();
    let batch = world.run("submit a.jsonl");
    wait_until("its engine was started", || running(&world) == 1);
    wait_until("that is told", || {
        let explained = explain(&world);
        let sentence = &explained["waiting_for"]["sentence"];
        *sentence == "the request waits for an engine of its model to be started or to load it"
            && explained["engines"].to_string().contains("\"starting\"")
    });
    serving.kill();
    wait_until("nothing is left of it", || running(&world) == 0 && are_free(ports));
    std::fs::remove_file(world.path("data/serve.json")).unwrap();
    let serving = world.serve();
    wait_until("the batch is completed", || {
        world.json(&format!("status {}", batch.stdout.trim()))["status"] == "completed"
    });
    drop(serving);
    wait_until("nothing is left of it", || running(&world) == 0 && are_free(ports));
}

#[test]
fn an_engine_that_cannot_be_started_is_tried_again_and_leaves_the_device_to_others() {
    let (world, _) = world("idle_stop = \"1s\"", ["[ -e there ] || { echo no such model; exit 3; };", ""]);
    let _serving = world.serve();
    let first = world.run("submit a.jsonl");
    let has_failed = || explain(&world)["waiting_for"]["words"].to_string().contains("no such model");
    wait_until("its start has failed", has_failed);
    let other = world.run("submit b.jsonl --wait");
    assert_eq!(other.code, 0, "{other:?}");
    world.write("there", "");
    wait_until("the batch is completed", || {
        world.json(&format!("status {}", first.stdout.trim()))["status"] == "completed"
    });
}

#[test]
fn an_engine_whose_command_changes_is_stopped_before_its_successor_starts_at_the_same_port() {
    let (world, ports) = world("", ["", ""]);
    let serving = world.serve();
    let first = world.run("submit a.jsonl --wait");
    assert_eq!((first.code, running(&world)), (0, 1), "{first:?}");
    let told = world.run("reload");
    assert!(told.stdout.starts_with("loaded; no setting "), "{told:?}");
    assert_eq!(running(&world), 1, "an engine that has not changed goes on");
    let changed = world.read("overnight.toml").replace("echo $$ >> pids;", "echo $$ >> pids; : again;");
    world.write("overnight.toml", &changed);
    let told = world.run("reload");
    assert_eq!((told.code, &*told.stdout), (0, "loaded; changed: engines (changed `a`, `b`)\n"), "{told:?}");
    wait_until("the old process is stopped", || running(&world) == 0 && are_free(ports));
    world.write("again.jsonl", &world.read("a.jsonl"));
    let again = world.run("submit again.jsonl --wait");
    assert_eq!((again.code, pids(&world.path("pids")).len()), (0, 2), "{again:?}");
    drop(serving);
    wait_until("nothing is left of it", || running(&world) == 0 && are_free(ports));
}

#[test]
fn an_embedded_engine_that_a_reload_changes_or_removes_ends_though_others_run_on() {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_overnight")).with_file_name("overnight-engine");
    if !program.exists() {
        eprintln!("skipped: {} is not built", program.display());
        return;
    }
    let (world, _) = world("", ["", ""]);
    let own = format!("#!/bin/sh\necho $$ >> embedded-pids\nexec '{}' \"$@\"\n", program.display());
    world.write("own.sh", &own);
    assert!(
        std::process::Command::new("chmod").arg("+x").arg(world.path("own.sh")).status().unwrap().success()
    );
    let others = world.read("overnight.toml");
    let embedded = "[[models]]\nname = \"boxed\"\n[[engines]]\nname = \"embedded\"\nkind = \"embedded\"\n\
                    models = { \"boxed\" = \"boxed\" }\nengine_path = \"./own.sh\"\n";
    let reload = |settings: &str| {
        world.write("overnight.toml", &format!("{others}{settings}"));
        let told = world.run("reload");
        assert_eq!(told.code, 0, "{told:?}");
    };
    world.write("overnight.toml", &format!("{others}{embedded}"));
    let lives = || pids(&world.path("embedded-pids"));
    let _serving = world.serve();
    // The request that started the command waits for its end, with the facts known then.
    let first = world.run("submit a.jsonl --wait");
    assert_eq!((first.code, running(&world)), (0, 1), "{first:?}");
    wait_until("the embedded engine runs", || matches!(lives()[..], [pid] if is_there(pid)));
    reload(&format!("{embedded}request_timeout = \"7m\"\n"));
    reload(&format!("{embedded}parallel = 2\n"));
    wait_until(
        "one that computes otherwise has its place",
        || matches!(lives()[..], [old, new] if !is_there(old) && is_there(new)),
    );
    reload("");
    wait_until("it is gone", || !lives().into_iter().any(is_there));
    assert_eq!((lives().len(), running(&world)), (2, 1));
}
