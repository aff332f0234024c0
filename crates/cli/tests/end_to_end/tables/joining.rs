//! Results of batches, joined to the submitted table.

use overnight_testkit::engine::echo_of;
use serde_json::{Value, json};

use super::run;
use crate::support::{Running, World, lines};

const ROWS: usize = 250;

fn table() -> String {
    (0..ROWS).fold("n,note\n".to_owned(), |text, row| format!("{text}{row},\"a, {row}\"\n"))
}

/// Submits a table in three batches; the output of `submit` is in `batches`.
fn submitted(world: &World) -> Running {
    let serving = world.serve();
    world.write("t.csv", &table());
    let words = ["submit", "t.csv", "--prompt", "question {{ n }}", "--model", "m", "--batch-lines", "100"];
    let ran = run(world, &words);
    assert_eq!((ran.code, ran.stdout.lines().count()), (0, 3), "{ran:?}");
    world.write("batches", &ran.stdout);
    serving
}

fn check(rows: &[Value]) {
    assert_eq!(rows.len(), ROWS);
    for (number, row) in rows.iter().enumerate() {
        let expected = (json!(number.to_string()), json!(format!("a, {number}")));
        assert_eq!((&row["n"], &row["note"]), (&expected.0, &expected.1));
        let answer = row["ai_answer"].as_str().unwrap();
        assert!(answer.starts_with(&echo_of(&format!("question {number}"))), "{row}");
        assert_eq!((&row["ai_error"], &row["ai_finish_reason"]), (&Value::Null, &json!("stop")));
    }
}

#[test]
fn a_submitted_table_of_several_batches_is_written_again_with_its_answers_in_its_order() {
    let world = World::new();
    let _serving = submitted(&world);
    let joined = "results @batches --table t.csv --prefix ai_";
    // `--follow` waits until all batches have ended.
    let ran = world.run(&format!("{joined} --follow -o out.parquet"));
    assert_eq!(ran.code, 0, "{ran:?}");
    let ran = world.run(&format!("{joined} -o out.jsonl"));
    assert_eq!(ran.code, 0, "{ran:?}");
    check(&lines(&world.read("out.jsonl")));
    // The order of the batches does not matter; the output is a table again.
    let batches: Vec<String> = world.read("batches").lines().rev().map(str::to_owned).collect();
    let ran = world.run(&format!("results {} --table out.parquet -o again.jsonl", batches.join(" ")));
    assert_eq!(ran.code, 0, "{ran:?}");
    let again = lines(&world.read("again.jsonl"));
    check(&again);
    assert!(again.iter().all(|row| row["answer"] == row["ai_answer"]));
    assert_eq!(lines(&world.run("results @batches").stdout).len(), ROWS);
}

#[test]
fn rows_without_an_answer_say_why_and_what_is_no_such_table_is_refused() {
    let world = World::new();
    let _serving = submitted(&world);
    let batches: Vec<String> = world.read("batches").lines().map(str::to_owned).collect();
    for batch in &batches {
        world.run(&format!("watch {batch}"));
    }
    let (first, last) = (&batches[0], &batches[2]);
    let ran = world.run(&format!("results {first} {last} --table t.csv --output-format jsonl"));
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("100 of 250 rows have no request in these batches"), "{ran:?}");
    let rows = lines(&ran.stdout);
    assert!(rows[99]["error"].is_null() && rows[200]["error"].is_null() && rows[99]["answer"].is_string());
    let error = json!("no_request: these batches have no request for the row");
    assert!(rows[100..200].iter().all(|row| row["error"] == error && row["answer"].is_null()));
    world.write("short.csv", "n,note\n1,2\n");
    world.write("broken.csv", "n,note\n1,2\n3\n");
    world.write("lines.txt", &table());
    world.write("taken.csv", &table().replace("note", "answer"));
    world.write("others.jsonl", &crate::support::chats(1));
    let other = world.run("submit others.jsonl --wait --json").stdout;
    let other = serde_json::from_str::<Value>(&other).unwrap()["id"].as_str().unwrap().to_owned();
    for (words, expected) in [
        (format!("{last} --table short.csv"), "of row 201, and short.csv has 1 rows"),
        (
            format!("{last} --table broken.csv"),
            "broken.csv has 1 bad line; nothing was written\n  line 3 has 1 fields",
        ),
        (format!("{last} --table taken.csv"), "the table has a column \"answer\""),
        (format!("{other} --table t.csv"), "has no `row` in its metadata"),
        (format!("{last} --table absent.csv"), "absent.csv: "),
        (format!("{last} --table t.csv --json"), "--json writes an array"),
        (format!("{last} --prefix x_"), "--table"),
        (format!("{last} --table t.csv -o t.csv"), "t.csv is read, and results would replace it"),
        ("@batches -o batches".to_owned(), "batches is read, and results would replace it"),
        (format!("{last} --table lines.txt"), "--input-format csv reads it"),
        ("@absent --table t.csv".to_owned(), "absent: "),
        ("req_01arz3ndektsv4rrffq69g5fav --table t.csv".to_owned(), "--table is for batches"),
        (format!("{first} {last} --after req_01arz3ndektsv4rrffq69g5fav"), "--after is for one batch"),
    ] {
        let target = if words.contains(" -o ") { "" } else { "-o no.csv" };
        let ran = world.run(&format!("results {words} {target}"));
        assert_eq!(ran.code, 2, "{words}: {ran:?}");
        assert!(ran.stderr.contains(expected), "{words}: {ran:?}");
        assert!(!world.path("no.csv").exists(), "{words}");
    }
}

#[test]
fn an_answer_counts_before_failures_of_the_same_row() {
    let world = World::new();
    let _serving = world.serve();
    world.write("t.csv", "n\n1\n[[sim:status=400 x1]] two\n3\n");
    let asked = ["submit", "t.csv", "--prompt", "{{ n }}", "--model", "m", "--body", "{\"max_tokens\": 4}"];
    let words = [&asked[..], &["--wait", "--json"]].concat();
    let ids = [1, 0].map(|code| {
        let ran = run(&world, &words);
        assert_eq!(ran.code, code, "{ran:?}");
        serde_json::from_str::<Value>(&ran.stdout).unwrap()["id"].as_str().unwrap().to_owned()
    });
    let ran = world.run(&format!("results {} --table t.csv --output-format jsonl", ids[0]));
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("1 of 3 rows failed or were cancelled"), "{ran:?}");
    for ids in [format!("{} {}", ids[0], ids[1]), format!("{} {}", ids[1], ids[0])] {
        let ran = world.run(&format!("results {ids} --table t.csv --output-format jsonl"));
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(lines(&ran.stdout).iter().all(|row| row["answer"].is_string() && row["error"].is_null()));
    }
}
