//! Encrypted bodies in the whole program.

use std::fs;

use crate::support::{World, chats, lines, wait_until};

/// Whether a file of the data folder contains this text.
fn is_stored(world: &World, text: &str) -> bool {
    let files = fs::read_dir(world.path("data")).unwrap();
    files
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .any(|path| fs::read(path).unwrap().windows(text.len()).any(|part| part == text.as_bytes()))
}

fn keys(world: &World) -> usize {
    fs::read_dir(world.path("keys")).map_or(0, |entries| entries.count())
}

#[test]
fn bodies_are_stored_encrypted_and_keys_go_with_their_accounts() {
    let world = World::new();
    let settings = world.read("overnight.toml");
    world.write(
        "overnight.toml",
        &settings.replacen("[[models]]", "[encryption]\nkey_dir = \"keys\"\n[[models]]", 1),
    );
    let serving = world.serve();
    world.write("prompts.jsonl", &chats(5));
    let sent = world.run("submit prompts.jsonl --wait");
    assert_eq!(sent.code, 0, "{sent:?}");
    let batch = sent.stdout.lines().next().unwrap();
    let results = lines(&world.run(&format!("results {batch}")).stdout);
    assert_eq!(results.len(), 5);
    assert!(results.iter().all(|result| result.to_string().contains("prompt ")));
    assert!(!is_stored(&world, "prompt 3") && !is_stored(&world, "chat.completion"));
    assert_eq!(keys(&world), 1);
    let told = world.run("doctor").stdout;
    assert!(told.contains("ok    encryption: on; keys of accounts in keys: 1"), "{told}");
    let accounts = world.json("account list");
    let id = accounts[0]["id"].as_str().unwrap();
    world.json(&format!("account close {id}"));
    world.json(&format!("account erase {id} --yes"));
    wait_until("the key is destroyed", || keys(&world) == 0);
    serving.signal("TERM");
    assert_eq!(serving.end().code, 0);
}

#[test]
fn a_service_without_its_keys_does_not_start_and_says_which_is_missing() {
    let world = World::new();
    let settings = world.read("overnight.toml");
    world.write(
        "overnight.toml",
        &settings.replacen("[[models]]", "[encryption]\nkey_dir = \"keys\"\n[[models]]", 1),
    );
    world.write("prompts.jsonl", &chats(1));
    let serving = world.serve();
    assert_eq!(world.run("submit prompts.jsonl --wait").code, 0);
    serving.signal("TERM");
    assert_eq!(serving.end().code, 0);
    fs::rename(world.path("keys"), world.path("elsewhere")).unwrap();
    let refuses = |why: &str| {
        let refused = world.run("serve");
        assert!(refused.code != 0 && refused.stderr.contains(why), "{refused:?}");
        let doctor = world.run("doctor");
        let finding = doctor.stdout.lines().find(|line| line.starts_with("fail  encryption: "));
        assert!(doctor.code == 1 && finding.is_some_and(|line| line.contains(why)), "{doctor:?}");
    };
    refuses("is missing in keys");
    assert!(!world.path("keys").exists(), "a folder that is not there may come back");
    world.write("overnight.toml", &settings);
    refuses("`encryption.key_dir`");
}
