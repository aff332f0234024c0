//! The service as a process.

use crate::support::{World, wait_until};

#[test]
fn the_first_start_makes_a_key_and_says_where_it_is() {
    let world = World::new();
    let serving = world.start("serve");
    wait_until("it serves", || world.path("data/serve.json").exists());
    wait_until("it answers", || world.run("list").code == 0);
    let key = world.read("data/api-key");
    assert!(key.starts_with("on_live_"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(world.path("data/api-key")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    serving.signal("TERM");
    let ended = serving.end();
    assert_eq!(ended.code, 0, "{ended:?}");
    for expected in ["serving at http://127.0.0.1:", "api-key"] {
        assert!(ended.stderr.contains(expected), "{expected}: {ended:?}");
    }
    assert!(!ended.stderr.contains(key.trim()), "the key itself is in its file only");
    assert!(ended.stdout.is_empty() && !world.path("data/serve.json").exists());
}

#[test]
fn ctrl_c_stops_it_in_peace() {
    let world = World::new();
    let serving = world.serve();
    serving.signal("INT");
    assert_eq!(serving.end().code, 0);
}

#[test]
fn a_second_service_is_refused_and_told_the_first_ones_process() {
    let world = World::new();
    let serving = world.serve();
    let second = world.run("serve");
    assert_eq!(second.code, 4, "{second:?}");
    assert!(second.stderr.contains(&format!("process {}", serving.id())), "{second:?}");
    assert!(world.path("data/serve.json").exists());
}

#[test]
fn a_service_is_told_for_machines_where_it_is() {
    let world = World::new();
    let serving = world.start("serve --json");
    wait_until("it serves", || world.path("data/serve.json").exists());
    let id = serving.id();
    serving.signal("INT");
    let told: serde_json::Value = serde_json::from_str(&serving.end().stdout).unwrap();
    assert_eq!(told["pid"], id);
    assert!(told["url"].as_str().unwrap().starts_with("http://127.0.0.1:"));
}
