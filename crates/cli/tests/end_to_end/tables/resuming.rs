//! A table in several batches, stopped and resumed.

use super::run;
use crate::support::Running;
use crate::support::{World, lines, wait_until};
use crate::tables::command;

fn table(rows: usize) -> String {
    (0..rows).fold("n\n".to_owned(), |text, row| format!("{text}{row}\n"))
}

const WORDS: [&str; 10] = [
    "run",
    "t.csv",
    "--prompt",
    "question {{ n }}",
    "--model",
    "m",
    "--batch-lines",
    "100",
    "-o",
    "out.jsonl",
];

#[test]
fn a_table_of_several_batches_that_is_killed_goes_on_and_asks_nothing_twice() {
    let world = World::new();
    world.write("t.csv", &table(450));
    for name in ["out.jsonl.run", "out.jsonl.run.3"] {
        let mut running = Running::of(&mut command(&world, &WORDS));
        wait_until("some rows are sent", || {
            let steps = std::fs::read_to_string(world.path(name)).map_or(0, |text| text.lines().count());
            steps > 20 || running.has_ended()
        });
        running.kill();
    }
    let ran = run(&world, &WORDS);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("450 of 450 completed"), "{ran:?}");
    let out = lines(&world.read("out.jsonl"));
    assert!(
        out.iter()
            .enumerate()
            .all(|(number, row)| row["n"] == *format!("{number}") && row["error"].is_null())
    );
    let other = run(
        &world,
        &["run", "t.csv", "--prompt", "{{ n }}", "--model", "m", "--batch-lines", "99", "-o", "out.jsonl"],
    );
    assert!(other.code == 2 && other.stderr.contains("is of a run with --batch-lines 100"), "{other:?}");
    let _serving = world.serve();
    assert_eq!(world.stored_requests(), 450);
    assert_eq!(world.json("list batches").as_array().unwrap().len(), 5);
    assert_eq!(world.json("audit")["is_sound"], true);
}

#[test]
fn rows_without_an_answer_are_asked_again_and_no_others() {
    let world = World::new();
    world.write("t.csv", "n\n1\n[[sim:status=400 x1]] two\n3\n");
    let words = [
        "run",
        "t.csv",
        "--prompt",
        "{{ n }}",
        "--model",
        "m",
        "--body",
        "{\"max_tokens\": 4}",
        "--batch-lines",
        "2",
        "-o",
        "out.csv",
    ];
    let ran = run(&world, &words);
    assert_eq!(ran.code, 1, "{ran:?} {:?} {}", world.engine.attempts(), world.read("out.csv"));
    assert!(world.read("out.csv").contains(",engine_rejected: "), "{}", world.read("out.csv"));
    let ran = run(&world, &words);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!((world.engine.attempts_of("1"), world.engine.attempts_of("3")), (1, 1));
    // A changed row counts as another one; columns outside the template may change.
    world.write("t.csv", "n,note\n1,a\nx,b\n3,c\n");
    assert_eq!(run(&world, &words).code, 0);
    assert_eq!((world.engine.attempts_of("1"), world.engine.attempts_of("x")), (1, 1));
    assert!(world.read("out.csv").starts_with("n,note,answer,"));
    std::fs::remove_file(world.path("out.csv.run")).unwrap();
    assert_eq!(run(&world, &words).code, 0);
    assert_eq!((world.engine.attempts_of("1"), world.engine.attempts_of("3")), (2, 2));
}
