//! The first command of the README with the real engine and the built-in model.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{Ran, lines, program};

/// The greedy answers to the samples. Each chosen token is at least 1.7 times as likely as the next.
const ANSWERS: [&str; 21] = [
    "The capital of France is Paris.",
    "It is dark at night because our side of the Earth is turned away from the Sun.",
    "It opens at 8.",
    "It is closed on Monday.",
    "The shop is in Berlin.",
    "It opens at 8.",
    "It is closed on Sunday.",
    "The shop is in Paris.",
    "positive",
    "negative",
    "positive",
    "negative",
    "billing",
    "bug",
    "delivery",
    "Anna went to Lima on Friday and got a plum at the bakery.",
    r#"{"name": "Tom", "city": "Ottawa", "day": "Tuesday"}"#,
    "7 + 3 = 10.",
    "3, 4, 5, 6, 7, 8, 9, 10.",
    "You are welcome. Good night!",
    "It uses hours in which the machines would be idle, and requests with the same beginning share their work.",
];

#[test]
fn the_examples_are_answered_by_the_model_in_the_box() {
    let engine = Path::new(env!("CARGO_BIN_EXE_overnight")).with_file_name("overnight-engine");
    if !engine.exists() {
        eprintln!("skipped: {} is not built", engine.display());
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/prompts.jsonl");
    fs::copy(examples, folder.path().join("prompts.jsonl")).unwrap();
    let mut command = program();
    command.args(["run", "prompts.jsonl"]).current_dir(folder.path());
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("prompts.jsonl.results.jsonl"), "{ran:?}");
    let results = lines(&fs::read_to_string(folder.path().join("prompts.jsonl.results.jsonl")).unwrap());
    assert_eq!(results.len(), fs::read_to_string(examples).unwrap().lines().count());
    let answer = |result: &Value| result["result_body"]["choices"][0]["message"]["content"].clone();
    assert!(results.iter().all(|result| answer(result).is_string()), "{results:?}");
    let without_chance = results.iter().filter(|result| result["request_body"]["temperature"] == 0);
    assert_eq!(without_chance.map(answer).collect::<Vec<_>>(), ANSWERS);
}

#[test]
fn doctor_names_what_the_engine_computes_on() {
    let engine = Path::new(env!("CARGO_BIN_EXE_overnight")).with_file_name("overnight-engine");
    if !engine.exists() {
        eprintln!("skipped: {} is not built", engine.display());
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let settings = "[[models]]\nname = \"m\"\n[[engines]]\nname = \"local\"\nkind = \"embedded\"\n";
    for (setting, expected) in [("", ""), ("gpu_layers = 0\n", " (`gpu_layers` = 0)")] {
        fs::write(folder.path().join("overnight.toml"), format!("{settings}{setting}")).unwrap();
        let ran = Ran::from(program().arg("doctor").current_dir(folder.path()).output().unwrap());
        let line = ran.stdout.lines().find(|line| line.starts_with("ok    engine local: "));
        let line = line.unwrap_or_else(|| panic!("{ran:?}"));
        let told = format!("overnight-engine {} on ", env!("CARGO_PKG_VERSION"));
        let (_, devices) = line.split_once(&told).unwrap_or_else(|| panic!("{line}"));
        let devices = devices
            .strip_suffix(&format!("{expected} with the model in the box; accounts share no prefixes"));
        // Such as `CPU: …` or `Vulkan0: …`.
        let (device, description) = devices.and_then(|it| it.split_once(": ")).expect(line);
        assert!(!device.contains(' ') && description.len() > 1, "{line}");
    }
}

#[test]
fn a_run_whose_only_engine_does_not_come_up_says_why_and_ends() {
    let folder = tempfile::tempdir().unwrap();
    let settings = "[[models]]\nname = \"m\"\n[[engines]]\nname = \"local\"\nkind = \"embedded\"\nengine_path = \"absent\"\n";
    fs::write(folder.path().join("overnight.toml"), settings).unwrap();
    let prompt = "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}\n";
    fs::write(folder.path().join("prompts.jsonl"), prompt).unwrap();
    let mut command = program();
    command.args(["run", "prompts.jsonl", "-o", "results.jsonl"]).current_dir(folder.path());
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.code, 4, "{ran:?}");
    for expected in ["the engine `local` does not come up", "absent", "hint: "] {
        assert!(ran.stderr.contains(expected), "{expected}: {ran:?}");
    }
}
