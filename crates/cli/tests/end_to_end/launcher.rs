//! `./overnight` in a clone reports mistakes before it compiles.

use std::fs;
use std::process::Command;

use crate::support::{Ran, program};

const LAUNCHER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../overnight");

#[test]
fn unknown_command_and_missing_file_are_refused_before_the_build() {
    let folder = tempfile::tempdir().unwrap();
    for (line, expected) in [
        ("frobnicate", "there is no command `frobnicate`. The commands: serve run"),
        ("--config o.toml ru prompts.jsonl", "there is no command `ru`"),
        ("run", "`run` needs a FILE that exists"),
        ("run absent.jsonl -o out.jsonl", "`run` needs a FILE that exists: absent.jsonl -o out.jsonl"),
        ("--json submit --wait absent.jsonl", "`submit` needs a FILE that exists"),
    ] {
        let mut command = Command::new(LAUNCHER);
        command.args(line.split(' ')).current_dir(folder.path()).env("CARGO_TARGET_DIR", folder.path());
        let ran = Ran::from(command.output().unwrap());
        assert!(ran.code == 2 && ran.stderr.contains(expected), "{line}: {ran:?}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{line}");
    }
}

#[test]
fn launcher_knows_every_command() {
    let launcher = fs::read_to_string(LAUNCHER).unwrap();
    let known = launcher.split_once("commands=\"").and_then(|(_, rest)| rest.split_once('"')).unwrap().0;
    let help = Ran::from(program().arg("--help").output().unwrap()).stdout;
    let listed = help.split_once("Commands:\n").and_then(|(_, rest)| rest.split_once("\n\n")).unwrap().0;
    let listed: Vec<_> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(known.split_whitespace().collect::<Vec<_>>(), listed);
}
