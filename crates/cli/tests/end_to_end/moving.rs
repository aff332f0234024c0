//! Exports, imports and the schema.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use overnight_testkit::postgres::Cluster;
use serde_json::json;

use crate::support::{Ran, World, lines, wait_until};

fn database(name: &str) -> String {
    Cluster::shared().database(name).unwrap()
}

/// Runs shell code in which `$overnight` is the program; a failure of any part of a pipe is a failure.
fn shell(world: &World, line: &str) -> Ran {
    let mut command = Command::new("bash");
    for name in world.command("").get_envs().map(|(name, _)| name) {
        command.env_remove(name);
    }
    let line = format!("set -o pipefail; {line}");
    let command = command.args(["-c", &line]).env("overnight", env!("CARGO_BIN_EXE_overnight"));
    command.current_dir(world.folder.path()).output().unwrap().into()
}

/// The rows of an export except the audit log, to which each export and import adds one.
fn moved_rows(world: &World, file: &str) -> Vec<String> {
    let is_moved = |line: &&str| line.starts_with('[') && !line.starts_with("[\"audit_log\"");
    world.read(file).lines().filter(is_moved).map(str::to_owned).collect()
}

#[test]
fn a_house_is_moved_through_a_pipe_and_served_with_the_same_keys() {
    let (world, url) = (World::answered(), database("moved"));
    let there = format!("--database-url '{url}' --data-dir other");
    let piped = shell(&world, &format!("$overnight export - | $overnight {there} import -"));
    assert_eq!(piped.code, 0, "{piped:?}");
    assert_eq!(piped.stdout, "5 requests, 5 results, 1 batch, 1 account, 1 key, 0 events imported\n");
    assert!(piped.stderr.contains("exported 5 requests, 5 results"), "{piped:?}");

    let there = there.replace('\'', "");
    assert_eq!(world.json(&format!("audit {there}"))["is_sound"], true);
    let counts = world.json("export here.jsonl");
    assert_eq!((&counts["requests"], &counts["queue"]), (&json!(5), &json!(0)));
    world.json(&format!("export there.jsonl {there}"));
    assert_eq!(moved_rows(&world, "here.jsonl"), moved_rows(&world, "there.jsonl"));
    let log = world.run(&format!("audit-log --json --action import {there}"));
    assert_eq!(lines(&log.stdout).len(), 1, "{log:?}");

    let _serving = world.start(&format!("serve --quiet {there}"));
    wait_until("the service says where it is", || world.path("other/serve.json").exists());
    let mut list = world.command("list requests --status completed --json --data-dir other");
    let listed: Ran =
        list.env("OVERNIGHT_API_KEY", world.read("data/api-key").trim()).output().unwrap().into();
    assert_eq!((listed.code, listed.stdout.matches("req_").count()), (0, 5), "{listed:?}");
    let served = world.run(&format!("import here.jsonl {there}"));
    assert_eq!(served.code, 4, "{served:?}");
    assert!(served.stderr.contains("serves this database"), "{served:?}");
}

#[test]
fn an_export_is_its_owners_only_and_whole_or_not_at_all() {
    let world = World::answered();
    let serving = world.serve();
    let told = world.run("export all.jsonl");
    assert_eq!(
        told.stdout,
        "5 requests, 5 results, 1 batch, 1 account, 1 key, 0 events exported to all.jsonl\n"
    );
    assert_eq!(fs::metadata(world.path("all.jsonl")).unwrap().permissions().mode() & 0o777, 0o600);
    let rows = lines(&world.read("all.jsonl"));
    assert_eq!(
        (&rows[0]["format"], &rows.last().unwrap()["rows"]["requests"]),
        (&json!("overnight-export"), &json!(5))
    );
    let quiet = world.run("export - --json");
    world.write("again.jsonl", &quiet.stdout);
    assert_eq!(moved_rows(&world, "again.jsonl"), moved_rows(&world, "all.jsonl"));
    let counts: serde_json::Value = serde_json::from_str(&quiet.stderr).unwrap();
    assert_eq!(counts["results"], 5);

    assert_eq!(world.run("export absent/all.jsonl").code, 2);
    assert_eq!(world.run("export all.jsonl --data-dir absent").code, 2);
    assert!(!world.path("absent").exists());
    assert_eq!(world.run("import all.jsonl").code, 4, "the folder is served");
    drop(serving);
}

#[test]
fn the_help_of_an_export_names_the_secrets_in_the_file() {
    let help = World::new().run("export --help").stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["secrets: the signing secrets of webhooks", "hashes of passwords", "digests of API keys"] {
        assert!(help.contains(words), "{words}: {help}");
    }
}

#[test]
fn an_import_that_is_refused_says_what_to_do_and_another_try_succeeds() {
    let world = World::answered();
    world.json("export all.jsonl");
    let file = world.read("all.jsonl");
    world.write("cut.jsonl", &file[..file.len() - 200]);
    world.write("foreign.jsonl", "{\"id\": 1}\n");
    world.write("changed.jsonl", &file.replacen("prompt 1", "prompt 7", 1));
    for (line, words) in [
        ("cut.jsonl --data-dir other", "cut off"),
        ("foreign.jsonl --data-dir other", "line 1: the file was not written by `overnight export`"),
        ("changed.jsonl --data-dir other", "SHA-256"),
        ("absent.jsonl --data-dir other", "absent.jsonl: "),
        ("all.jsonl", "hint: name another store"),
    ] {
        let refused = world.run(&format!("import {line}"));
        assert_eq!(refused.code, 2, "{line}: {refused:?}");
        assert!(refused.stderr.contains(words), "{line}: {refused:?}");
    }
    let counts = world.json("import all.jsonl --data-dir other");
    assert_eq!((&counts["requests"], &counts["settings"]), (&json!(5), &json!(1)));
    assert_eq!(world.json("audit --data-dir other")["is_sound"], true);
}

#[test]
fn a_schema_is_looked_at_and_brought_up_to_date() {
    let world = World::new();
    let newest = world.json("migrate --data-dir first")["newest"].clone();
    let url = database("migrated");
    for (folder, place) in [
        ("second", "--data-dir second".to_owned()),
        ("third", format!("--data-dir third --database-url {url}")),
    ] {
        let check = world.run(&format!("migrate --check {place}"));
        assert_eq!(check.code, 1, "{check:?}");
        assert!(check.stdout.contains("the schema is 0"), "{check:?}");
        assert!(!world.path(folder).exists(), "a look makes nothing");
        let made = world.json(&format!("migrate {place}"));
        assert_eq!(made, json!({"found": 0, "now": newest, "newest": newest}));
        let again = world.json(&format!("migrate --check {place}"));
        assert_eq!(again, json!({"found": newest, "now": newest, "newest": newest}));
        assert!(world.run(&format!("migrate {place}")).stdout.contains("up to date"));
    }
}

#[test]
fn a_newer_folder_is_refused_by_this_program() {
    /// The position of the schema version in an SQLite file (<https://sqlite.org/fileformat2.html#database_header>).
    const USER_VERSION: std::ops::Range<usize> = 60..64;
    let world = World::new();
    world.json("migrate");
    let file = world.path("data/overnight.db");
    let mut bytes = fs::read(&file).unwrap();
    bytes[USER_VERSION].copy_from_slice(&99u32.to_be_bytes());
    fs::write(&file, bytes).unwrap();
    for line in ["migrate", "migrate --check", "audit", "export -", "serve"] {
        let refused = world.run(line);
        assert_eq!(refused.code, 4, "{line}: {refused:?}");
        assert!(refused.stderr.contains("use a newer program"), "{line}: {refused:?}");
    }
}
