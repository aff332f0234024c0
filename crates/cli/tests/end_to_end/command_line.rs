//! Help for people, shells and `man`, and the messages of commands.

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
    let formats = "csv csv.gz csv.zst tsv tsv.gz tsv.zst jsonl jsonl.gz jsonl.zst parquet";
    for (typed, expected) in [
        ("exp", "explain export"),
        ("submit --dry", "--dry-run"),
        ("list --status ", "registered in_progress completed failed cancelled"),
        ("list --status c", "completed cancelled"),
        ("run --output-format ", formats),
        ("results --input-format c", "csv csv.gz csv.zst"),
        ("serve --role a", "all api"),
        ("user create --role ", "viewer developer owner"),
        ("webhook events --state ", "pending delivered exhausted"),
        ("submit --model ", ""),
        ("submit --schema overnight.b", "overnight.bash"),
    ] {
        let words = format!("overnight {typed}");
        let words: Vec<&str> = words.split(' ').collect();
        let [.., before, last] = words[..] else { panic!("{typed}") };
        let asked = format!(
            "cd {}; . ./overnight.bash; COMP_WORDS=({}); COMP_CWORD={}; _overnight overnight '{last}' '{before}'; echo \"${{COMPREPLY[@]}}\"",
            folder.path().display(),
            words.join(" "),
            words.len() - 1
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
    let submit = page("overnight-submit.1");
    let synopsis =
        submit.lines().skip_while(|line| *line != ".SH SYNOPSIS").nth(1).unwrap().replace('\\', "");
    for expected in ["[--model <MODEL>]", "[--wait]", "[--max-cost <CREDITS>]", "[-q|--quiet]"] {
        assert!(synopsis.contains(expected), "{expected}: {synopsis}");
    }
    assert!(synopsis.ends_with(" <FILE>") && !page("overnight.1").contains("[OPTIONS]"), "{synopsis}");
    assert!(page("overnight-account-create.1").replace('\\', "").contains("] --name <NAME>"));
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

#[test]
fn a_model_that_there_is_not_is_told_once_and_leaves_no_journal() {
    let world = World::new();
    world.write("prompts.jsonl", &chats(30));
    let told = "the service has no model \"nope\"; it has m";
    let ran = world.run("run prompts.jsonl -o out.jsonl --model nope");
    assert!(ran.code == 3 && ran.stderr.contains(told), "{ran:?}");
    assert!(!world.path("out.jsonl.run").exists());
    let _serving = world.serve();
    for flag in ["", "--dry-run"] {
        let ran = world.run(&format!("submit prompts.jsonl --model nope {flag}"));
        assert_eq!(ran.code, 3, "{ran:?}");
        assert_eq!(ran.stderr, format!("error: {told}\nhint: none of the 30 lines was sent\n"));
    }
    let ran = world.run("submit prompts.jsonl --url http://127.0.0.1:9");
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(!world.path("prompts.jsonl.submit").exists());
    // Lines that name the model themselves share a reason.
    world.write("prompts.jsonl", &chats(30).replace("\"m\"", "\"nope\""));
    for (flag, word) in [("", "was"), ("--dry-run", "would be")] {
        let ran = world.run(&format!("submit prompts.jsonl {flag}"));
        assert_eq!(ran.code, 1, "{ran:?}");
        let refused: Vec<&str> = ran.stderr.lines().filter(|line| line.contains("refused")).collect();
        let [first, rest] = refused[..] else { panic!("{ran:?}") };
        assert!(first.starts_with(&format!("line 1 {word} refused: ")), "{first}");
        assert!(rest.starts_with("29 more lines w") && rest.contains("must be one of"), "{rest}");
    }
}
