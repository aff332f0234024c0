//! Answers with a schema, spread over columns.

use serde_json::{Value, json};

use super::run;
use crate::support::{World, lines};

#[test]
fn members_of_answers_are_columns_and_what_is_no_such_object_is_an_error() {
    let world = World::new();
    world.write(
        "answer.json",
        r#"{"type": "object", "properties": {"topic": {"type": "string"}, "n": {"type": "integer"}}}"#,
    );
    // This engine repeats its prompt, which is not an object if the row is not.
    let rows =
        [json!({"text": "[[sim:say]]{\"topic\": \"x\", \"n\": 7}"}), json!({"text": "[[sim:say]]plain"})];
    world.write("t.jsonl", &format!("{}\n{}\n", rows[0], rows[1]));
    let words = [
        "run",
        "t.jsonl",
        "--prompt",
        "{{ text }}",
        "--model",
        "m",
        "--schema",
        "answer.json",
        "--body",
        "{\"max_tokens\": 64}",
        "-o",
    ];
    for name in ["out.jsonl", "out.parquet"] {
        let ran = run(&world, &[&words[..], &[name]].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    let out = lines(&world.read("out.jsonl"));
    assert_eq!(out.len(), 2, "{out:?}");
    assert!(
        out[1]["error"].as_str().is_some_and(|error| error.starts_with("the answer is no JSON")),
        "{out:?}"
    );
    assert_eq!((&out[1]["topic"], &out[1]["n"]), (&Value::Null, &Value::Null));
    world.write("bad.json", "{}");
    let ran = run(
        &world,
        &["run", "t.jsonl", "--prompt", "{{ a }}", "--model", "m", "--schema", "bad.json", "-o", "o.csv"],
    );
    assert!(ran.code == 2 && ran.stderr.contains("properties"), "{ran:?}");
}
