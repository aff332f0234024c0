//! A data folder with a damaged page: every interface reports it, and no backup is lost.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::Value;

use crate::support::{World, chat};

const PAGE: usize = 4_096;
/// Enough for lists with several pages.
const REQUESTS: usize = 60;
const REQUEST_BYTES: usize = 80_000;

/// A folder with answered requests and one backup. One page of a stored body is damaged.
fn damaged() -> World {
    let world = World::new();
    let text = "ab ".repeat(REQUEST_BYTES / 3);
    let lines: Vec<String> =
        (0..REQUESTS).map(|number| chat(&format!("{number} {text}")).to_string()).collect();
    world.write("prompts.jsonl", &(lines.join("\n") + "\n"));
    assert_eq!(world.run("run prompts.jsonl -o out.jsonl").code, 0);
    world.json("backup kept");
    let log = world.path("data/overnight.db-wal");
    assert!(fs::metadata(log).map_or(0, |it| it.len()) == 0, "the file alone is the whole database");
    let path = world.path("data/overnight.db");
    let mut bytes = fs::read(&path).unwrap();
    // An overflow page begins with the number of the next one; the first page has the number 1.
    let is_inside = |(place, page): &(usize, &[u8])| {
        page[..4] == u32::try_from(*place + 2).unwrap().to_be_bytes()
            && page[4..].windows(6).take(3).any(|it| it == b"ab ab ")
    };
    let inside: Vec<usize> =
        bytes.chunks(PAGE).enumerate().filter(is_inside).map(|(place, _)| place).collect();
    let place = inside[inside.len() / 2] * PAGE;
    bytes[place..place + PAGE].fill(0xA5);
    fs::write(path, bytes).unwrap();
    world
}

/// Everything that is sent until the connection is closed.
fn get(world: &World, path: &str, version: &str) -> String {
    let serving: Value = serde_json::from_str(&world.read("data/serve.json")).unwrap();
    let address = serving["url"].as_str().unwrap().trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).unwrap();
    let key = world.read("data/api-key");
    let head = format!(
        "GET {path} HTTP/{version}\r\nHost: localhost\r\nConnection: close\r\nX-API-Key: {}\r\n\r\n",
        key.trim()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = Vec::new();
    // The answer precedes a reset of the connection.
    _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn damaged_page_is_told_to_clients_and_operators_and_other_requests_are_served() {
    let world = damaged();
    let serving = world.serve();
    for version in ["1.0", "1.1"] {
        let list = get(&world, "/v1/requests?full=true", version);
        assert!(list.starts_with("HTTP/1.1 200") || list.starts_with("HTTP/1.0 200"), "{list:.200}");
        let lines = list.lines().filter(|line| line.starts_with("{\"id\"")).count();
        assert!((1..REQUESTS).contains(&lines), "{lines}");
        let last = list.lines().rfind(|line| line.starts_with('{')).unwrap();
        assert!(
            last.starts_with("{\"error\"") && last.contains("the database is damaged"),
            "{version}: {last:.300}"
        );
        assert!(!list.ends_with("\r\n0\r\n\r\n"), "{version}: it ends as if it were whole");
    }
    let batches = world.json("list batches");
    let listed = world.run(&format!("results {} -o results.jsonl", batches[0]["id"].as_str().unwrap()));
    assert!(listed.code != 0 && listed.stderr.contains("the database is damaged"), "{listed:?}");
    assert!(get(&world, "/readyz", "1.1").starts_with("HTTP/1.1 200"));
    let metrics = get(&world, "/metrics", "1.1");
    let damage = metrics.lines().find(|line| line.starts_with("overnight_store_damage_total")).unwrap();
    assert!(!damage.ends_with(" 0"), "{damage}");
    world.write("more.jsonl", &(chat("another").to_string() + "\n"));
    assert_eq!(world.run("submit more.jsonl --wait").code, 0, "the service goes on");
    drop(serving);
}

#[test]
fn damaged_page_fails_doctor_audit_and_backup_and_a_restored_backup_is_whole() {
    let world = damaged();
    let doctor = world.run("doctor --json");
    let told: Value = serde_json::from_str(&doctor.stdout).unwrap();
    let checks = told["checks"].as_array().unwrap();
    let pages = checks.iter().find(|check| check["check"] == "database pages").unwrap();
    assert!(doctor.code == 1 && pages["state"] == "fail", "{pages}");
    for line in ["audit", "backup kept --keep 1", "export out.ndjson"] {
        let failed = world.run(line);
        assert!(failed.code == 1 && failed.stderr.contains("a-damaged-database"), "{line}: {failed:?}");
    }
    assert_eq!(world.json("restore kept --check")["requests"], REQUESTS);
    assert_eq!(world.json("restore kept --data-dir other")["is_sound"], true);
    assert_eq!(world.run("audit --data-dir other").code, 0);
}

#[test]
fn damaged_repository_is_repaired_and_what_cannot_be_is_set_aside() {
    let world = World::answered();
    world.json("backup kept");
    let chunks = || -> Vec<_> {
        let folders = fs::read_dir(world.path("kept/chunks")).unwrap();
        folders
            .flat_map(|folder| fs::read_dir(folder.unwrap().path()).unwrap())
            .map(|chunk| chunk.unwrap().path())
            .collect()
    };
    fs::write(&chunks()[0], "other").unwrap();
    let repaired = world.run("backup kept");
    assert!(repaired.code == 0 && repaired.stderr.contains("1 damaged files"), "{repaired:?}");
    assert_eq!(world.run("restore kept --check").code, 0);

    let _serving = world.serve();
    world.write("more.jsonl", &(chat("another").to_string() + "\n"));
    assert_eq!(world.run("submit more.jsonl --wait").code, 0);
    // Some of them have changed since in the database, and some may be as they were.
    let old = chunks();
    world.json("backup kept");
    for chunk in old {
        fs::write(chunk, "other").unwrap();
    }
    let aside = world.run("backup kept --keep 3");
    assert!(aside.code == 1 && aside.stderr.contains("cannot be restored"), "{aside:?}");
    for backup in world.json("restore kept --list").as_array().unwrap() {
        let id = backup["id"].as_str().unwrap();
        assert_eq!(world.run(&format!("restore kept --check --backup {id}")).code, 0, "{id}");
    }
    let doctor = world.run("doctor");
    assert!(doctor.stdout.contains("backups that cannot be restored"), "{doctor:?}");
}
