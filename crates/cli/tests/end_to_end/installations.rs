//! Data folders without their database, or with another program's.

use std::collections::BTreeMap;
use std::fs;

use rusqlite::Connection;
use serde_json::Value;

use crate::support::{World, chats, wait_until};

const DATABASE: &str = "data/overnight.db";

/// A folder with a database made by these statements.
fn world_with(statements: &str) -> World {
    let world = World::new();
    fs::create_dir(world.path("data")).unwrap();
    let file = Connection::open(world.path(DATABASE)).unwrap();
    file.execute_batch(statements).unwrap();
    file.close().unwrap();
    world
}

/// The finding of `overnight doctor` on the database.
fn doctor(world: &World) -> String {
    let ran = world.run("doctor --json");
    assert_eq!(ran.code, 1, "{ran:?}");
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    let checks = told["checks"].as_array().unwrap();
    let database = checks.iter().find(|check| check["check"] == "database").unwrap();
    assert_eq!(database["state"], "fail", "{told}");
    database["message"].as_str().unwrap().to_owned()
}

fn database_files(world: &World) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(world.path("data")).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &std::path::Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let ours = entries.filter(|path| name(path).starts_with("overnight.db"));
    ours.map(|path| (name(&path), fs::read(&path).unwrap())).collect()
}

#[test]
fn a_service_ends_when_its_database_is_removed_and_does_not_begin_anew() {
    let world = World::answered();
    let key = world.read("data/api-key");
    let mut serving = world.start("serve");
    wait_until("it serves", || world.path("data/serve.json").exists());
    // All connections to the file are open once it has stored something.
    world.write("more.jsonl", &chats(2));
    assert_eq!(world.run("submit more.jsonl --wait").code, 0);
    fs::remove_file(world.path(DATABASE)).unwrap();
    wait_until("it ends", || serving.has_ended());
    let ended = serving.end();
    assert_eq!(ended.code, 74, "{ended:?}");
    assert!(ended.stderr.contains("overnight.db was removed or moved"), "{ended:?}");
    for line in ["serve", "audit", "migrate", "account create --name new"] {
        let refused = world.run(line);
        assert_eq!(refused.code, 2, "{line}: {refused:?}");
        assert!(refused.stderr.contains("restore a backup"), "{line}: {refused:?}");
    }
    assert!(doctor(&world).contains("is missing or empty"));
    assert!(!world.path(DATABASE).exists());
    assert_eq!(world.read("data/api-key"), key);
}

#[test]
fn the_database_of_another_program_is_refused_by_every_command_and_stays_as_it_is() {
    let world = world_with("PRAGMA journal_mode = wal; CREATE TABLE notes (id INTEGER);");
    let before = database_files(&world);
    for line in ["serve", "migrate", "audit", "backup kept", "export -", "vacuum", "import /dev/null"] {
        let refused = world.run(line);
        assert_eq!(refused.code, 2, "{line}: {refused:?}");
        let is_told = refused.stderr.contains("belongs to another program") || line.starts_with("import");
        assert!(is_told, "{line}: {refused:?}");
    }
    assert!(doctor(&world).contains("its table `notes`"));
    assert!(database_files(&world) == before, "{:?}", database_files(&world).keys());
}

#[test]
fn a_database_of_an_unreleased_schema_is_refused_by_every_command_and_stays_as_it_is() {
    let world = world_with(
        "CREATE TABLE requests (seq, id, account, model, created_at, expires_at, body);
        CREATE TABLE settings (name, value); PRAGMA user_version = 12;",
    );
    let before = database_files(&world);
    world.write("export.jsonl", include_str!("../../../store/src/tests/transfer/schema_40.jsonl"));
    for line in [
        "serve",
        "migrate",
        "migrate --check",
        "audit",
        "backup kept",
        "export -",
        "vacuum",
        "audit-log",
        "account list",
        "top --once",
        "import export.jsonl",
    ] {
        let refused = world.run(line);
        assert_eq!(refused.code, 2, "{line}: {refused:?}");
        assert!(refused.stderr.contains("schema 12, of a version before 0.1.0"), "{line}: {refused:?}");
    }
    assert!(doctor(&world).contains("`overnight import FILE`"));
    assert!(database_files(&world) == before, "{:?}", database_files(&world).keys());
    world.json("import export.jsonl --data-dir new");
    assert_eq!(world.json("audit --data-dir new")["is_sound"], true);
}
