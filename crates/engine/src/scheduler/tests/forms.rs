//! Answers of a given form beside others.

use serde_json::{Value, json};

use super::{Bench, CAPACITY, Sampling, completion, greedy, texts};
use crate::constraint::{Compiler, Constraint};
use crate::fake::{FakeVocabulary, letter_of_everything};
use crate::scheduler::{Finish, Generation};

fn constraint(schema: &Value) -> Constraint {
    let compiler = Compiler::new(&FakeVocabulary::default()).expect("a vocabulary of bytes");
    compiler.compile(schema).expect("a schema")
}

/// A model that would only ever say letters.
fn bench() -> Bench {
    Bench::new(CAPACITY, letter_of_everything)
}

#[test]
fn an_answer_has_its_form_and_ends_where_it_is_whole_and_others_go_on_as_without_it() {
    let schema = json!({"type": "object", "additionalProperties": false, "required": ["a"],
        "properties": {"a": {"type": "string", "maxLength": 5}}});
    let free = bench().complete("free", greedy(20));
    let mut bench = bench();
    let constrained = bench.submit_with("formed", greedy(200), Some(constraint(&schema)));
    let beside = bench.submit("free", greedy(20));
    bench.finish();
    let constrained = completion(constrained);
    let answer: Value = serde_json::from_str(&constrained.choices[0].text).expect("JSON");
    assert!(answer["a"].as_str().is_some_and(|text| text.len() <= 5), "{answer}");
    assert_eq!(constrained.choices[0].finish, Finish::Stop);
    assert_eq!(texts(&completion(beside)), texts(&free));
}

#[test]
fn each_choice_has_the_form_and_what_is_cut_says_so() {
    let schema = json!({"type": "array", "minItems": 3, "maxItems": 3, "items": {"enum": ["left", "right"]}});
    let sampling = Sampling { temperature: 1.5, seed: 3, ..Sampling::default() };
    let generation = Generation { choices: 4, sampling, ..greedy(90) };
    let mut bench = bench();
    let answer = bench.submit_with("many", generation, Some(constraint(&schema)));
    let cut = bench.submit_with("cut", greedy(6), Some(constraint(&schema)));
    bench.finish();
    let answer = completion(answer);
    for text in texts(&answer) {
        let items: Vec<String> = serde_json::from_str(text).expect("JSON");
        assert!(
            items.len() == 3 && items.iter().all(|item| ["left", "right"].contains(&item.as_str())),
            "{text}"
        );
    }
    assert!(texts(&answer).iter().any(|text| *text != texts(&answer)[0]), "each draws for itself");
    let cut = completion(cut);
    assert_eq!((cut.choices[0].finish, cut.choices[0].tokens), (Finish::Length, 6));
}

#[test]
fn the_end_of_the_turn_may_come_only_where_the_answer_is_whole() {
    // The end follows every letter, by itself.
    let mut bench = Bench::new(CAPACITY, |_| crate::fake::END);
    let schema = json!({"type": "integer"});
    let answer = bench.submit_with("end", greedy(50), Some(constraint(&schema)));
    bench.finish();
    let answer = completion(answer);
    assert!(answer.choices[0].text.parse::<i64>().is_ok(), "{answer:?}");
    assert_eq!(answer.choices[0].finish, Finish::Stop);
}
