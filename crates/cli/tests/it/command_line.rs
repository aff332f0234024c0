//! What the command line says of itself, to people, shells and `man`, and what it says of what it does.

use std::fs;
use std::process::Command;

use crate::support::{Ran, World, chats, program};

fn run(line: &str) -> String {
    let ran: Ran = program().args(line.split_whitespace()).output().unwrap().into();
    assert_eq!(ran.code, 0, "{line}: {ran:?}");
    ran.stdout
}

#[test]
fn help_says_first_what_this_is_and_is_a_command_too() {
    let help = run("--help");
    assert!(help.starts_with("Asynchronous batch inference"), "{help}");
    assert_eq!(run("help"), help);
    let group = run("help account grant");
    assert!(group.contains("Examples:\n  overnight account grant $ACCOUNT 25"), "{group}");
}

#[test]
fn a_shell_completes_commands_and_options() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("overnight.bash");
    fs::write(&script, run("completion bash")).unwrap();
    for (typed, expected) in [("exp", "explain export"), ("submit --dry", "--dry-run")] {
        let words = format!("overnight {typed}");
        let last = typed.rsplit(' ').next().unwrap();
        let place = words.split(' ').count() - 1;
        let asked = format!(
            ". {}; COMP_WORDS=({words}); COMP_CWORD={place}; _overnight overnight '{last}' ''; echo \"${{COMPREPLY[@]}}\"",
            script.display()
        );
        let output = Command::new("bash").args(["-c", &asked]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), expected, "{output:?}");
    }
    for shell in ["zsh", "fish", "powershell", "elvish"] {
        let script = run(&format!("completion {shell}"));
        assert!(script.contains("dry-run") && !script.contains("engine-guard"), "{shell}");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("share/man/man1");
    run(&format!("man -o {}", path.display()));
    let page = |name: &str| fs::read_to_string(path.join(name)).unwrap();
    let first = page("overnight.1");
    assert!(
        first.contains("overnight \\- Asynchronous batch inference")
            && first.contains("overnight\\-submit(1)"),
        "{first}"
    );
    assert!(page("overnight-account-grant.1").contains("overnight account grant $ACCOUNT 25"));
    assert!(!path.join("overnight-engine-guard.1").exists() && !path.join("overnight-help.1").exists());
    assert_eq!(run("man"), page("overnight.1"));
}

#[test]
fn a_list_of_requests_to_an_unknown_model_says_that_it_is_unknown() {
    let world = World::new();
    let serving = world.serve();
    let ran = world.run("list --model nope");
    assert_eq!((ran.code, ran.stdout.as_str()), (3, ""), "{ran:?}");
    assert!(ran.stderr.contains("no model \"nope\"; it has m"), "{ran:?}");
    assert_eq!(world.json("list --model m"), serde_json::json!([]));
    drop(serving);
}

#[test]
fn the_batch_is_named_before_it_is_waited_for_and_what_needs_no_sending_is_not_said_to_be_sent() {
    let world = World::new();
    world.write("prompts.jsonl", &chats(3));
    let first = world.run("run prompts.jsonl -o results.jsonl");
    let named = first.stderr.lines().position(|line| line.starts_with("waiting for batch_"));
    let ended = first.stderr.lines().position(|line| line.starts_with("3 of 3 completed"));
    assert!(named.is_some() && named < ended, "{first:?}");
    let again = world.run("run prompts.jsonl -o results.jsonl");
    assert!(again.stderr.contains("nothing to send: all 3 lines were sent before"), "{again:?}");
    assert!(!again.stderr.contains("going on"), "{again:?}");
}

#[test]
fn a_batch_whose_lines_all_changed_is_named_and_not_waited_for() {
    let world = World::new();
    world.write("prompts.jsonl", &chats(3));
    let first = world.run("run prompts.jsonl -o results.jsonl");
    let before = first.stderr.lines().find_map(|line| line.strip_prefix("waiting for batch_")).unwrap();
    world.write(
        "prompts.jsonl",
        &chats(6).lines().skip(3).map(|line| format!("{line}\n")).collect::<String>(),
    );
    let changed = world.run("run prompts.jsonl -o results.jsonl");
    assert!(changed.stderr.contains(&format!("all lines of batch_{before} changed since")), "{changed:?}");
    let waiting = changed.stderr.lines().find(|line| line.starts_with("waiting for ")).unwrap();
    assert!(!waiting.contains(before) && changed.stderr.contains("3 of 3 completed"), "{changed:?}");
}
