//! Backups from the command line: messages, refusals and restores.

use std::fs;

use crate::support::{World, wait_until};

#[test]
fn a_folder_is_backed_up_listed_checked_and_restored_with_its_keys() {
    let world = World::answered();
    let serving = world.serve();
    let first = world.json("backup kept");
    let second = world.run("backup kept --keep 1");
    assert_eq!(second.code, 0, "{second:?}");
    assert!(second.stdout.contains("deleted 1 older"), "{second:?}");
    let listed = world.json("restore kept --list");
    let id = listed[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert!(second.stdout.starts_with(&id) && first["id"] != listed[0]["id"], "{listed}");
    assert!(world.run("restore kept --list").stdout.contains(&id));
    assert!(world.run("restore kept --check").stdout.contains("can be restored: "));
    drop(serving);

    let told = world.run(&format!("restore kept --backup {id} --data-dir other"));
    assert_eq!(told.code, 0, "{told:?}");
    assert!(
        told.stdout.contains("5 requests, 0 of them live, 0 events to send; 34 rules checked, all hold"),
        "{told:?}"
    );
    let again = world.run("restore kept --data-dir other");
    assert!(again.code == 2 && again.stderr.contains("holds no database"), "{again:?}");
    let _serving = world.start("serve --quiet --data-dir other");
    wait_until("the service says where it is", || world.path("other/serve.json").exists());
    let mut list = world.command("list requests --status completed --json --data-dir other");
    let listed = list.env("OVERNIGHT_API_KEY", world.read("data/api-key").trim()).output().unwrap();
    assert_eq!(String::from_utf8(listed.stdout).unwrap().matches("req_").count(), 5);
}

#[test]
fn backups_are_taken_again_and_again_until_it_is_told_to_stop() {
    let world = World::answered();
    let mut backing_up = world.start("backup kept --every 50ms --keep 3");
    let lines: Vec<String> = (0..5).map(|_| backing_up.line()).collect();
    assert!(lines.iter().all(|line| line.contains(" stored")), "{lines:?}");
    backing_up.signal("TERM");
    assert_eq!(backing_up.code(), 0);
    assert!(world.json("restore kept --list").as_array().unwrap().len() <= 4);
    assert_eq!(world.json("restore kept --data-dir other")["requests"], 5);
}

#[test]
fn what_cannot_be_backed_up_or_restored_is_refused_by_name() {
    let world = World::answered();
    world.json("backup kept");
    fs::create_dir(world.path("full")).unwrap();
    world.write("full/thesis.txt", "mine");
    for (line, words) in [
        ("backup full", "full holds other files"),
        ("backup kept --data-dir absent", "absent holds no database"),
        ("restore full --data-dir other", "full is no repository of backups"),
        ("restore kept --backup 2026 --data-dir other", "kept holds no backup 2026"),
        ("restore kept", "is there already"),
        ("restore kept --list --check", "cannot be used with"),
        ("backup kept --database-url postgres://nobody@127.0.0.1:1/none", "hint: use pg_dump"),
        (
            "restore kept --data-dir other --database-url postgres://nobody@127.0.0.1:1/none",
            "hint: use pg_dump",
        ),
    ] {
        let refused = world.run(line);
        assert_eq!(refused.code, 2, "{line}: {refused:?}");
        assert!(refused.stderr.contains(words), "{line}: {refused:?}");
    }
    let folder = fs::read_dir(world.path("kept/chunks")).unwrap().next().unwrap().unwrap().path();
    let chunk = fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    fs::remove_file(&chunk).unwrap();
    let name = chunk.file_name().unwrap().to_string_lossy().into_owned();
    for line in ["restore kept --check", "restore kept --data-dir other"] {
        let refused = world.run(line);
        assert!(
            refused.code == 2 && refused.stderr.contains(&format!("{name} is missing")),
            "{line}: {refused:?}"
        );
    }
    assert!(!world.path("other/overnight.db").exists());
}
