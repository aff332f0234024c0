//! Costs are known before they arise.

use super::run;
use crate::support::World;

/// A world with a price of one credit for a thousand tokens read, and two for a thousand written; the account has enough.
fn priced() -> World {
    let world = World::new();
    let settings = world.read("overnight.toml");
    let prices = "name = \"m\"\ninput_price = \"1000\"\noutput_price = \"2000\"\n";
    world.write("overnight.toml", &settings.replace("name = \"m\"\n", prices));
    // The first start creates the account that `run` charges.
    drop(world.serve());
    let account = world.json("account list")[0]["id"].as_str().unwrap().to_owned();
    world.json(&format!("account activate {account}"));
    world.json(&format!("account grant {account} 1000"));
    world
}

const RUN: [&str; 8] =
    ["run", "t.csv", "--prompt", "question {{ n }}", "--model", "m", "--body", "{\"max_tokens\": 4}"];

#[test]
fn what_may_cost_too_much_is_not_sent_and_a_sample_says_what_the_rest_costs() {
    let world = priced();
    world.write("t.csv", &(0..40).fold("n\n".to_owned(), |text, row| format!("{text}{row}\n")));
    let with = |words: &[&str]| run(&world, &[&RUN[..], &["-o", "out.csv"], words].concat());
    let ran = with(&["--max-cost", "0.01"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.stderr.contains("what is to be sent may cost") && ran.stderr.contains("nothing was sent"),
        "{ran:?}"
    );
    assert!(world.engine.attempts().is_empty());
    let ran = with(&["--sample", "4", "--max-cost", "0.3"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("a sample of 4 cost") && ran.stderr.contains("the 36 others"), "{ran:?}");
    assert!(ran.stderr.contains("with the sample more than 0.3"), "{ran:?}");
    assert!(ran.stderr.contains("nothing more was sent") && !world.path("out.csv").exists(), "{ran:?}");
    assert_eq!(world.engine.attempts().len(), 4);
    let ran = with(&["--sample", "4"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("a sample of 4 cost"), "{ran:?}");
    assert_eq!(world.engine.attempts().len(), 40, "the sample is not sent twice");
    let text = world.read("out.csv");
    let costs: Vec<f64> =
        text.lines().skip(1).map(|line| line.split(',').nth(5).unwrap().parse().unwrap()).collect();
    assert!(costs.len() == 40 && costs.iter().all(|cost| *cost > 0.0), "{text}");
    // All rows are answered, so there is nothing to estimate or to hold back.
    let ran = with(&["--sample", "4", "--max-cost", "0.001"]);
    assert_eq!((ran.code, world.engine.attempts().len()), (0, 40), "{ran:?}");
    assert!(ran.stderr.contains(" credits; nothing else is left to send\n"), "{ran:?}");
    for (words, expected) in [
        (["--sample", "0"], "a sample has 1 to 1000 lines"),
        (["--sample", "1001"], "a sample has 1 to 1000 lines"),
        (["--sample", "-1"], "a sample has 1 to 1000 lines"),
        (["--max-cost", "x"], "a number such as 12.5"),
        (["--max-cost", "-1"], "invalid value '-1' for '--max-cost <CREDITS>': must be 0 or more"),
    ] {
        let ran = with(&words);
        assert!(ran.code == 2 && ran.stderr.contains(expected), "{words:?}: {ran:?}");
    }
}
