//! The service as a process.

use std::os::unix::fs::PermissionsExt;

use crate::support::{World, wait_until};

#[test]
fn the_first_start_makes_a_key_and_says_where_it_is() {
    let world = World::new();
    let serving = world.start("serve");
    wait_until("it serves", || world.path("data/serve.json").exists());
    wait_until("it answers", || world.run("list").code == 0);
    let key = world.read("data/api-key");
    assert!(key.starts_with("on_live_"));
    let mode = std::fs::metadata(world.path("data/api-key")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
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

#[cfg(target_os = "linux")]
#[test]
fn a_port_that_another_folders_service_took_is_told_with_that_folder_and_a_free_port() {
    let (first, second) = (World::new(), World::new());
    // It has its own key.
    drop(second.serve());
    let serving = first.serve();
    let url = serde_json::from_str::<serde_json::Value>(&first.read("data/serve.json")).unwrap()["url"]
        .as_str()
        .unwrap()
        .to_owned();
    let address = url.strip_prefix("http://").unwrap();
    let data_dir = std::fs::canonicalize(first.path("data")).unwrap();
    let ran = second.run(&format!("serve --listen {address}"));
    assert_eq!(ran.code, 2, "{ran:?}");
    let told = format!("{address} is taken by the service of the data folder {}\n", data_dir.display());
    assert!(ran.stderr.contains(&told), "{ran:?}");
    assert!(ran.stderr.contains("hint: `overnight serve --listen 127.0.0.1:"), "{ran:?}");
    // Clients in that folder call the port of its settings, where another service does not know their key.
    second.write("overnight.toml", &second.read("overnight.toml").replace("127.0.0.1:0", address));
    let ran = second.run("list");
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.stderr.contains("no service runs over the data folder "), "{ran:?}");
    assert!(ran.stderr.contains(&format!("`--data-dir {}` ({url})", data_dir.display())), "{ran:?}");
    let ran = second.run(&format!("list --data-dir {}", data_dir.display()));
    assert_eq!(ran.code, 0, "{ran:?}");
    drop(serving);
}

#[test]
fn a_folder_without_a_service_is_told_with_where_it_was_looked_for() {
    let world = World::new();
    let ran = world.run("list");
    assert_eq!(ran.code, 2, "{ran:?}");
    let folder = std::fs::canonicalize(world.folder.path()).unwrap().join("data");
    let none = format!("OVERNIGHT_API_KEY is not set, and {} holds no file api-key", folder.display());
    assert!(ran.stderr.contains(&none) && ran.stderr.contains("--data-dir"), "{ran:?}");
    let doctor = world.run("doctor");
    assert!(
        doctor.stdout.contains(&format!("{} is made by the first start", folder.display())),
        "{doctor:?}"
    );
    drop(world.serve());
    std::fs::remove_file(world.path("data/serve.json")).unwrap();
    let settings = world.read("overnight.toml").replace("127.0.0.1:0", "127.0.0.1:9");
    world.write("overnight.toml", &settings);
    let ran = world.run("list");
    assert_eq!(ran.code, 4, "{ran:?}");
    for expected in [
        format!("no service runs over the data folder {}", folder.display()).as_str(),
        "so http://127.0.0.1:9 of the settings was called; start it with `overnight serve`",
        "--data-dir",
    ] {
        assert!(ran.stderr.contains(expected), "{expected}: {ran:?}");
        assert!(world.run("doctor").stdout.contains(expected), "{expected}");
    }
}
