//! The command line itself.

use crate::support::{Ran, World, program};

fn run(line: &str) -> Ran {
    program().args(line.split_whitespace()).output().unwrap().into()
}

#[test]
fn help_names_every_command_and_the_exit_codes() {
    let help = run("--help");
    assert_eq!(help.code, 0);
    for word in [
        "serve",
        "run",
        "submit",
        "status",
        "watch",
        "results",
        "cancel",
        "list",
        "account",
        "key",
        "explain",
        "audit",
        "audit-log",
        "migrate",
        "export",
        "import",
        "doctor",
        "openapi",
        "Exit codes",
        "--data-dir",
        "--json",
        "--url",
    ] {
        assert!(help.stdout.contains(word), "{word}");
    }
    for command in ["serve", "run", "submit", "account create", "key create", "list"] {
        assert_eq!(run(&format!("{command} --help")).code, 0, "{command}");
    }
    assert!(run("--version").stdout.starts_with("overnight 0."));
}

#[test]
fn numbers_below_0_are_refused_by_the_option_that_they_follow() {
    let world = World::new();
    for line in [
        "list --limit -1",
        "webhook events --limit -1",
        "submit prompts.jsonl --batch-lines -1",
        "submit prompts.jsonl --max-cost -0.5",
    ] {
        let ran = world.run(line);
        let value = line.rsplit(' ').next().unwrap();
        assert!(ran.code == 2 && ran.stderr.contains(&format!("invalid value '{value}' for '--")), "{ran:?}");
    }
}

#[test]
fn what_cannot_be_understood_exits_with_2() {
    for line in ["", "nonsense", "status", "status req_nonsense", "account show acct_1", "list --limit x"] {
        assert_eq!(run(line).code, 2, "{line}");
    }
}

#[test]
fn settings_that_cannot_be_used_exit_with_2_and_name_the_setting() {
    let world = World::new();
    world.write("overnight.toml", "leese = \"1s\"\n");
    let ran = world.run("audit");
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.starts_with("error: unknown setting `leese`"), "{ran:?}");
    let ran = world.run("audit --json");
    let error: serde_json::Value = serde_json::from_str(&ran.stderr).unwrap();
    assert_eq!(error["error"]["exit_code"], 2);
}

#[test]
fn bad_lines_are_all_named_and_nothing_is_sent() {
    let world = World::new();
    world.write("prompts.jsonl", "{\"model\":\"m\",\"messages\":[]}\n\n{\"custom_id\":\"a\"}\n[]\n");
    for line in ["run prompts.jsonl -o out.jsonl", "submit prompts.jsonl"] {
        let ran = world.run(line);
        assert_eq!(ran.code, 2);
        for expected in
            ["3 bad lines; nothing was sent", "line 2 is empty", "line 3 must have", "line 4 is no"]
        {
            assert!(ran.stderr.contains(expected), "{expected}: {ran:?}");
        }
    }
    assert!(!world.path("data").exists());
    assert_eq!(world.run("run absent.jsonl -o out.jsonl").code, 2);
    let ran = world.run("run prompts.jsonl -o absent/out.jsonl");
    assert_eq!(ran.code, 2);
}

#[test]
fn openapi_is_printed() {
    let ran = run("openapi");
    let document: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert!(document["paths"]["/v1/requests"].is_object());
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let world = World::new();
    let program = env!("CARGO_BIN_EXE_overnight");
    let line = format!("{program} openapi | head -c 1 > head; echo ${{PIPESTATUS[0]}} > code");
    std::process::Command::new("bash").args(["-c", &line]).current_dir(world.folder.path()).status().unwrap();
    assert_eq!(world.read("code").trim(), "0");
}
