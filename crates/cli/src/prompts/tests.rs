use std::fs;
use std::path::Path;

use super::*;
use crate::errors::CliError;

const CHAT: &str = r#"{"model":"m","messages":[]}"#;

fn scan(text: &str) -> Result<Prompts, CliError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prompts.jsonl");
    fs::write(&path, text).unwrap();
    first_part(&input(&path, None)?)
}

fn input(path: &Path, model: Option<String>) -> Result<Input, CliError> {
    Input::check(Source::open(path, None, path.parent().unwrap())?, None, model, PART_LINES)
}

fn first_part(input: &Input) -> Result<Prompts, CliError> {
    Ok(input.read()?.next()?.unwrap())
}

#[test]
fn every_line_is_checked_and_all_bad_ones_are_told() {
    let error = scan(&format!("{CHAT}\n\n{{}}\n{CHAT}\nnonsense\n")).unwrap_err();
    for expected in
        ["has 3 bad lines; nothing was sent", "\nline 2 is empty", "\nline 3 has no", "\nline 5 is no"]
    {
        assert!(error.message().contains(expected), "{expected}: {}", error.message());
    }
    let many = scan(&"x\n".repeat(30)).unwrap_err();
    assert!(many.message().ends_with("\nand 10 more"));
}

#[test]
fn empty_lines_at_the_end_are_no_lines() {
    assert_eq!(scan(&format!("{CHAT}\r\n{CHAT}\n\n \n")).unwrap().lines().len(), 2);
    assert_eq!(scan(CHAT).unwrap().lines().len(), 1);
    assert!(scan("\n\n").unwrap_err().message().ends_with("holds no requests"));
}

#[test]
fn lines_are_read_again_in_any_order_and_a_changed_file_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prompts.jsonl");
    let line = |model| format!("{{\"model\":\"{model}\",\"messages\":[]}}");
    let lines: Vec<String> = (0..9).map(line).collect();
    fs::write(&path, lines.join("\n")).unwrap();
    let input = input(&path, None).unwrap();
    let prompts = first_part(&input).unwrap();
    let mut reader = prompts.reader();
    for index in [0, 1, 5, 8, 2, 2] {
        let body = String::from_utf8(reader.create_body(index).unwrap()).unwrap();
        assert_eq!(body, format!("{{\"request_body\":{}}}", lines[index]));
    }
    fs::write(&path, "other").unwrap();
    for error in [prompts.reader().create_body(3).unwrap_err(), first_part(&input).unwrap_err()] {
        assert!(error.message().ends_with("was changed while it was read"));
    }
}

#[test]
fn another_model_is_asked_and_makes_another_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prompts.jsonl");
    let lines = [
        r#"{"messages":[],"model":"m","seed":1}"#,
        r#"{"metadata":{"model":"m"},"request_body":{"messages":[{"model":"m"}]}}"#,
        r#"{"custom_id":"a","body":{"model":"m","messages":[]}}"#,
    ];
    fs::write(&path, lines.join("\n")).unwrap();
    let prompts = first_part(&input(&path, Some("o/r:Q8_0".to_owned())).unwrap()).unwrap();
    let mut reader = prompts.reader();
    let bodies = [0, 1, 2].map(|index| String::from_utf8(reader.create_body(index).unwrap()).unwrap());
    assert_eq!(
        bodies,
        [
            r#"{"request_body":{"model":"o/r:Q8_0","messages":[],"seed":1}}"#,
            r#"{"metadata":{"model":"m"},"request_body":{"model":"o/r:Q8_0","messages":[{"model":"m"}]}}"#,
            r#"{"request_body":{"model":"o/r:Q8_0","messages":[]},"metadata":{"custom_id":"a"}}"#,
        ]
    );
    let own = first_part(&input(&path, None).unwrap()).unwrap();
    assert!(own.lines().iter().zip(prompts.lines()).all(|(own, other)| own.sha256 != other.sha256));
}
