//! Input and output in every file format.

use std::io::Write;
use std::process::Stdio;

use overnight_testkit::engine::echo_of;
use serde_json::{Value, json};

use super::{command, rows, run};
use crate::support::{Ran, World, chats, lines};

const TICKETS: &str =
    "id,subject,body\n1,Late,\"It is late,\nvery \"\"late\"\"\"\n2,Broken,\"a\nb\"\n3,Lost,gone\n";

fn contents() -> [String; 3] {
    ["Late: It is late,\nvery \"late\"", "Broken: a\nb", "Lost: gone"].map(echo_of)
}

#[test]
fn formulas_are_escaped_if_that_is_asked_for() {
    let world = World::new();
    world.write("a.csv", "text,n\n=1+1,-1\n@SUM(A1),+2.5\n");
    let words = ["run", "a.csv", "--prompt", "{{ text }}", "--model", "m", "--escape-formulas", "-o"];
    let ran = run(&world, &[&words[..], &["out.csv"]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    let text = world.read("out.csv");
    assert!(text.contains("\n'=1+1,-1,") && text.contains("\n'@SUM(A1),+2.5,"), "{text}");
    assert!(text.contains(&echo_of("=1+1")), "the model reads the cell itself: {text}");
    let refused = run(&world, &[&words[..], &["out.parquet"]].concat());
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("--escape-formulas is for CSV and TSV"), "{refused:?}");
}

#[test]
fn a_table_is_answered_row_by_row_and_keeps_its_columns_in_every_format() {
    let world = World::new();
    world.write("tickets.csv", TICKETS);
    world.write("system.txt", "Answer {{ id }}.\n");
    let prompt = "{{ subject }}: {{ body }}";
    let words = ["run", "tickets.csv", "--prompt", prompt, "--system", "@system.txt", "--model", "m", "-o"];
    for name in ["out.csv", "out.jsonl", "out.parquet", "out.csv.gz", "out.tsv", "out.jsonl.zst"] {
        let ran = run(&world, &[&words[..], &[name]].concat());
        assert_eq!(ran.code, 0, "{name}: {ran:?}");
        assert!(ran.stderr.contains("3 of 3 completed"), "{ran:?}");
    }
    let out: Vec<Value> = lines(&world.read("out.jsonl"));
    for (number, (row, answer)) in out.iter().zip(contents()).enumerate() {
        assert_eq!(row["id"], json!((number + 1).to_string()));
        assert!(row["answer"].as_str().is_some_and(|text| text.starts_with(&answer)), "{row}");
        assert_eq!((&row["finish_reason"], &row["error"]), (&json!("stop"), &Value::Null));
        assert!(row["prompt_tokens"].as_u64().is_some_and(|count| count > 0), "{row}");
    }
    let text = world.read("out.csv");
    assert!(
        text.starts_with("id,subject,body,answer,finish_reason,prompt_tokens,completion_tokens,cost,error\n")
    );
    assert!(text.contains("1,Late,\"It is late,\nvery \"\"late\"\"\",echo:"), "{text}");
    // Each other output is read as a table again, and has the same content.
    for name in ["out.parquet", "out.csv.gz", "out.tsv", "out.jsonl.zst"] {
        let again = [
            "run",
            name,
            "--prompt",
            "{{ subject }}",
            "--model",
            "m",
            "--prefix",
            "second_",
            "-o",
            "again.csv",
        ];
        let ran = run(&world, &again);
        assert_eq!(ran.code, 0, "{name}: {ran:?}");
        let text = world.read("again.csv");
        assert!(text.contains(&contents()[1]) && text.contains(&echo_of("Lost")), "{name}: {text}");
        assert!(text.lines().next().unwrap().ends_with(",second_cost,second_error"), "{text}");
    }
}

#[test]
fn rows_of_json_lines_are_rows_and_stay_as_they_are() {
    let world = World::new();
    world.write("rows.jsonl", "{\"a\": 1.00, \"list\": [\"x\", \"y\"]}\n{\"list\": [], \"b\": null}\n");
    let ran = run(
        &world,
        &["run", "rows.jsonl", "--prompt", "{{ list | join(' ') }}!", "--model", "m", "-o", "out.jsonl"],
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    let text = world.read("out.jsonl");
    assert!(text.starts_with("{\"a\": 1.00, \"list\": [\"x\", \"y\"],\"answer\":"), "{text}");
    let answer = lines(&text)[0]["answer"].clone();
    assert!(answer.as_str().is_some_and(|answer| answer.starts_with(&echo_of("x y!"))), "{answer}");
}

#[test]
fn a_broken_row_is_refused_with_its_line_and_nothing_is_sent() {
    let world = World::new();
    for (name, text, expected) in [
        (
            "a.csv",
            "a,b\n1,2\n3\n4,5\n6,7,8\n",
            "line 3 has 1 fields, and the table 2 columns\n  line 5 has 3 fields",
        ),
        ("b.csv", "a,b\n1,2\n\"3,4\n5,6\n", "line 3 opens a quote that does not close"),
        ("c.jsonl", "{\"a\": 1}\n{\"a\": 1,}\n", "line 2 is not valid: "),
        ("d.jsonl", "{\"a\": 1}\n{\"b\": 1}\n", "line 2 has no a, which the template names"),
        ("e.csv", "c,b\n1,2\n", "has no column a; nothing was sent"),
        ("f.parquet", "a,b\n1,2\n", "f.parquet: "),
        (
            "g.csv",
            "",
            "g.csv is empty; nothing was sent\nhint: the first line of a table has the names of its columns",
        ),
        ("h.csv", "a\n", "holds no requests"),
        ("i.csv", "a,answer\n1,2\n", "the table has a column \"answer\""),
        ("j.csv", "a\tb\n1\t2\n", "commas part fields, not tabs, as in tsv"),
        (
            "k.txt",
            "a,b\n1,2\n",
            "hint: it looks like a table with commas between its columns: --input-format csv reads it\n",
        ),
        ("l", "a\tb\n1\t2\n", "with tabs between its columns: --input-format tsv reads it\n"),
    ] {
        world.write(name, text);
        let ran = run(&world, &["run", name, "--prompt", "{{ a }}", "--model", "m", "-o", "out.csv"]);
        assert_eq!(ran.code, 2, "{name}: {ran:?}");
        assert!(ran.stderr.contains(expected), "{name}: {ran:?}");
    }
    assert!(world.engine.attempts().is_empty() && !world.path("data").exists());
}

#[test]
fn a_command_line_that_contradicts_itself_or_the_table_is_refused_and_nothing_is_sent() {
    let world = World::new();
    ["a.csv", "k.txt"].iter().for_each(|name| world.write(name, "a,b\n1,2\n"));
    let asked = |words: &[&str]| run(&world, &[&["run", "a.csv", "--prompt", "{{ a }}"], words].concat());
    for (words, expected) in [
        (&["-o", "out.csv"][..], "--prompt needs --model"),
        (&["--model", "m", "-o", "out.parquet.gz"], "its own pages"),
        (&["--model", "m", "-o", "o", "--body", "[]"], "--body must be an object"),
        (&["--model", "m", "-o", "o", "--body", "{\"messages\": 1}"], "cannot have `messages`"),
        (
            &["--model", "m", "-o", "o", "--body", "{\"model\": \"n\"}"],
            "--model says \"m\", and `model` in --body says \"n\"\nhint: name the model in one of them",
        ),
        (
            &["--model", "m", "-o", "a.csv"],
            "a.csv is read, and results would replace it\nhint: name another file with -o",
        ),
        (
            &["--model", "m", "-o", "o", "--input-format", "xlsx"],
            "[possible values: csv, csv.gz, csv.zst, tsv,",
        ),
    ] {
        let ran = asked(words);
        assert_eq!(ran.code, 2, "{words:?}: {ran:?}");
        assert!(ran.stderr.contains(expected), "{words:?}: {ran:?}");
    }
    for (words, expected) in [
        (&["run", "a.csv", "-o", "out.csv"][..], "is a table; what is asked about its rows says --prompt"),
        (&["run", "a.csv", "--prompt", "{{ a", "--model", "m", "-o", "out.csv"], "--prompt: "),
        (&["run", "a.csv", "--prompt", "{a}", "--model", "m", "-o", "out.csv"], "names no column"),
        (&["run", "a.csv", "--prompt", "{{ first name }}", "--model", "m", "-o", "o"], "row[\"First name\"]"),
        (&["run", "a.csv", "--prompt", "@absent", "--model", "m", "-o", "out.csv"], "absent: "),
        (&["run", "k.txt", "-o", "o"], "--input-format csv reads it, and --prompt asks about its rows"),
    ] {
        let ran = run(&world, words);
        assert_eq!(ran.code, 2, "{words:?}: {ran:?}");
        assert!(ran.stderr.contains(expected), "{words:?}: {ran:?}");
    }
    assert!(world.engine.attempts().is_empty() && !world.path("data").exists());
}

#[test]
fn what_is_piped_in_is_answered_to_a_pipe() {
    let world = World::new();
    let piped = |words: &[&str], text: &str| -> Ran {
        let mut process = command(&world, words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        process.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        process.wait_with_output().unwrap().into()
    };
    let words = ["run", "-", "--prompt", "{{ body }}", "--model", "m", "--input-format", "csv", "-o", "-"];
    let ran = piped(&[&words[..], &["--output-format", "csv"]].concat(), "id,body\n1,x\n2,y\n");
    assert_eq!(ran.code, 0, "{ran:?}");
    let out = rows(&ran.stdout);
    assert_eq!(out.len(), 3);
    assert!(out[1][2].starts_with(&echo_of("x")) && out[2][2].starts_with(&echo_of("y")), "{out:?}");
    let ran = piped(&["run", "-", "-o", "-"], "id,body\n1,x\n");
    let hint = "hint: it looks like a table with commas between its columns: --input-format csv reads it, and --prompt asks";
    assert!(ran.code == 2 && ran.stderr.contains(hint), "{ran:?}");
    let ran = piped(&["run", "-"], &chats(3));
    assert_eq!((ran.code, lines(&ran.stdout).len()), (0, 3), "{ran:?}");
    // The same input is recognised.
    let ran = piped(&["run", "-", "-o", "-"], &chats(3));
    assert_eq!((ran.code, world.engine.attempts_of("prompt 1")), (0, 1), "{ran:?}");
    let ran = piped(&["run", "-", "-o", "-", "--json"], &chats(3));
    assert_eq!(ran.code, 2);
}

#[test]
fn requests_are_read_compressed_and_their_answers_written_as_a_table() {
    let world = World::new();
    let own = json!({"request_body": {"model": "m", "messages": [{"role": "user", "content": "one"}]}, "metadata": {"k": 7}});
    let refused = json!({"model": "m", "messages": []});
    world.write("prompts.jsonl", &format!("{own}\n{refused}\n"));
    assert_eq!(world.run("run prompts.jsonl -o first.jsonl.gz").code, 1);
    let ran = world.run("run prompts.jsonl -o out.csv");
    assert_eq!(ran.code, 1, "{ran:?}");
    let text = world.read("out.csv");
    let all: Vec<&str> = text.lines().collect();
    assert_eq!(all[0], "id,status,metadata,answer,finish_reason,prompt_tokens,completion_tokens,cost,error");
    assert!(all[1].contains(",completed,\"{\"\"k\"\":7}\",echo:"), "{text}");
    assert!(all[2].starts_with(",refused,,,,,,,"), "{text}");
    // The compressed output has full records, which are valid requests again.
    let _serving = world.serve();
    let gunzipped =
        std::process::Command::new("gzip").args(["-dc"]).arg(world.path("first.jsonl.gz")).output().unwrap();
    let first = lines(&String::from_utf8(gunzipped.stdout).unwrap()).swap_remove(0);
    assert_eq!(first["metadata"], json!({"k": 7}));
    world.write("again.jsonl", &json!({"request_body": first["request_body"]}).to_string());
    let zipped = std::process::Command::new("gzip").arg(world.path("again.jsonl")).status().unwrap();
    assert!(zipped.success());
    assert_eq!(world.run("submit again.jsonl.gz --wait").code, 0);
}

#[test]
fn results_of_a_submitted_table_are_a_table() {
    let world = World::new();
    let _serving = world.serve();
    world.write("tickets.csv", TICKETS);
    let ran = run(
        &world,
        &["submit", "tickets.csv", "--prompt", "{{ subject }}", "--model", "m", "--wait", "--json"],
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    let batch = serde_json::from_str::<Value>(&ran.stdout).unwrap()["id"].as_str().unwrap().to_owned();
    assert!(!world.path("tickets.csv.submit").exists());
    let ran = world.run(&format!("results {batch} --output-format csv"));
    assert_eq!(ran.code, 0, "{ran:?}");
    let text = ran.stdout;
    assert!(text.contains(",completed,\"{\"\"row\"\":2}\",") && text.contains(&echo_of("Broken")), "{text}");
    assert_eq!(world.run(&format!("results {batch} --follow -o all.parquet")).code, 0);
    let again =
        ["run", "all.parquet", "--prompt", "{{ answer }}", "--model", "m", "--prefix", "x_", "-o", "x.jsonl"];
    assert_eq!(run(&world, &again).code, 0);
    assert_eq!(lines(&world.read("x.jsonl")).len(), 3);
    assert_eq!(world.run(&format!("results {batch} --output-format csv --json")).code, 2);
    assert_eq!(lines(&world.run(&format!("results {batch}")).stdout).len(), 3);
}
