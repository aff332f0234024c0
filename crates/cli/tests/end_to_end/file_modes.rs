//! Access of other users to the program's files.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{Ran, World, chats};

/// The command in a shell with a permissive umask.
fn carelessly(world: &World, line: &str) -> Command {
    let program = world.command(line);
    let mut shell = Command::new("sh");
    shell.args(["-c", "umask 000; exec \"$0\" \"$@\""]).arg(program.get_program()).args(program.get_args());
    for (name, _) in program.get_envs() {
        shell.env_remove(name);
    }
    shell.current_dir(world.folder.path());
    shell
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// The paths in a folder that other users can access, with their modes.
fn used_by_others(path: &Path) -> Vec<String> {
    let mut found = Vec::new();
    if mode(path) & 0o077 != 0 {
        found.push(format!("{} {:o}", path.display(), mode(path)));
    }
    if path.is_dir() {
        found.extend(fs::read_dir(path).unwrap().flat_map(|entry| used_by_others(&entry.unwrap().path())));
    }
    found
}

#[test]
fn what_a_service_makes_is_for_its_owner_only() {
    let world = World::new();
    let embedded = "[[engines]]\nname = \"local\"\nkind = \"embedded\"\nengine_path = \"absent\"\n";
    world.write("overnight.toml", &format!("{}{embedded}", world.read("overnight.toml")));
    let _serving = world.serve_by(carelessly(&world, "serve --quiet").stderr(Stdio::null()));
    for file in
        ["overnight.db", "overnight.db-wal", "overnight.lock", "api-key", "models/overnight-tiny.gguf"]
    {
        assert!(world.path("data").join(file).exists(), "{file}");
    }
    assert_eq!(used_by_others(&world.path("data")), Vec::<String>::new());
}

#[test]
fn a_run_keeps_its_folder_private_and_leaves_the_results_to_the_users_umask() {
    let world = World::new();
    world.write("prompts.jsonl", &chats(2));
    let ran: Ran = carelessly(&world, "run prompts.jsonl -o out.jsonl").output().unwrap().into();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(world.path("data/run.log").exists());
    assert_eq!(used_by_others(&world.path("data")), Vec::<String>::new());
    assert_eq!(mode(&world.path("out.jsonl")), 0o666);
}

#[test]
fn commands_of_operators_make_everything_for_the_owner_only() {
    let world = World::new();
    for line in
        ["migrate", "account create --name first", "export all.jsonl", "import all.jsonl --data-dir second"]
    {
        let ran: Ran = carelessly(&world, line).output().unwrap().into();
        assert_eq!(ran.code, 0, "{line}: {ran:?}");
    }
    for path in ["data", "second", "all.jsonl"] {
        assert_eq!(used_by_others(&world.path(path)), Vec::<String>::new());
    }
}

#[test]
fn a_folder_that_others_could_read_is_closed_by_the_next_command() {
    let world = World::new();
    world.json("migrate");
    // The packages' settings store large bodies there.
    fs::create_dir(world.path("data/objects")).unwrap();
    set_mode(&world.path("data/objects"), 0o700);
    set_mode(&world.path("data/overnight.db"), 0o644);
    set_mode(&world.path("data"), 0o755);
    world.json("audit");
    assert_eq!(used_by_others(&world.path("data")), Vec::<String>::new());
}

#[test]
fn a_folder_that_everyone_writes_to_is_refused_with_the_command_that_corrects_it() {
    let world = World::new();
    fs::create_dir(world.path("data")).unwrap();
    world.write("data/thesis.txt", "not of the service");
    set_mode(&world.path("data"), 0o777);
    world.write("prompts.jsonl", &chats(1));
    for line in ["serve", "run prompts.jsonl -o out.jsonl", "migrate", "account create --name first"] {
        let refused = world.run(line);
        assert_eq!(refused.code, 2, "{line}: {refused:?}");
        for words in [
            "data has mode 0777",
            "every user of this machine",
            "hint: run `chmod 700 data`",
            "move the files of Overnight into it, and use --data-dir data/private",
        ] {
            assert!(refused.stderr.contains(words), "{line}: {refused:?}");
        }
    }
    assert_eq!(fs::read_dir(world.path("data")).unwrap().count(), 1);
}

#[test]
fn doctor_names_each_mode_that_lets_others_in() {
    let world = World::new();
    drop(world.serve());
    let cases = [
        ("data", 0o755, 0o700, "warn"),
        ("data/overnight.db", 0o644, 0o600, "fail"),
        ("data/api-key", 0o604, 0o600, "fail"),
        ("data/overnight.lock", 0o640, 0o600, "warn"),
    ];
    for (path, found, _, _) in cases {
        set_mode(&world.path(path), found);
    }
    let ran = world.run("doctor --json");
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let checks = report["checks"].as_array().unwrap();
    let told: Vec<_> = checks.iter().filter(|check| check["check"] == "file modes").collect();
    assert_eq!((ran.code, told.len()), (1, cases.len()), "{told:?}");
    for (path, found, expected, state) in cases {
        let words = format!("{path} has mode {found:04o} and should have {expected:04o}");
        let check = told.iter().find(|check| check["message"].as_str().unwrap().starts_with(&words));
        let check = check.unwrap_or_else(|| panic!("{words}: {told:?}"));
        assert_eq!(check["state"], state, "{path}");
        assert!(check["hint"].as_str().unwrap().contains(&format!("chmod {expected:o} {path}")), "{check}");
    }
    let again = world.run("doctor");
    assert!(again.stdout.contains("ok    file modes"), "{again:?}");
}
