use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};

use super::{Bench, CAPACITY, completion, greedy, texts};
use crate::{
    constraint::{Form, Grammar, Grammars},
    fake::{END, FakeVocabulary, letter_of_everything, next_letter},
    model::BatchEntry,
    sampling::TokenSet,
    scheduler::{Failure, Finish, Generation},
};

fn grammar(schema: Value) -> Option<Arc<Grammar>> {
    let form = Form::schema(schema, "response_format");
    let form = form.review().expect("a form");
    let grammars = Grammars::new(Arc::new(FakeVocabulary::default()));
    Some(grammars.compile(&Arc::from("account"), &form, 0).expect("a grammar"))
}

fn letters() -> Option<Arc<Grammar>> {
    grammar(json!({ "type": "string", "pattern": "^[a-z]{4}$" }))
}

#[test]
fn an_answer_ends_where_its_form_is_complete() {
    let mut bench = Bench::new(CAPACITY, next_letter);
    let formed = bench.submit_formed("b", Generation { ignores_end: true, ..greedy(100) }, letters());
    let free = bench.submit("b", greedy(6));
    bench.finish();
    let formed = completion(formed);
    // The model chooses c, which the form does not allow first.
    assert_eq!(texts(&formed), ["\"abcd\""]);
    assert_eq!((formed.choices[0].finish, formed.choices[0].tokens), (Finish::Stop, 6));
    assert_eq!(texts(&completion(free)), ["cdefgh"]);
}

#[test]
fn an_answer_that_is_cut_says_so() {
    let mut bench = Bench::new(CAPACITY, next_letter);
    let formed = bench.submit_formed("b", greedy(3), letters());
    bench.finish();
    let formed = completion(formed);
    assert_eq!(texts(&formed), ["\"ab"]);
    assert_eq!(formed.choices[0].finish, Finish::Length);
}

#[test]
fn an_end_of_turn_is_drawn_only_where_the_answer_may_end() {
    let mut bench = Bench::new(CAPACITY, |_| END);
    let generation = || Generation { ignores_end: true, ..greedy(10) };
    let formed = bench.submit_formed("b", generation(), grammar(json!({ "enum": [10, 100] })));
    bench.finish();
    assert_eq!(texts(&completion(formed)), ["10"]);
    let formed = Generation { tokens_min: 3, ..generation() };
    let formed = bench.submit_formed("b", formed, grammar(json!({ "enum": [10, 100] })));
    bench.finish();
    assert_eq!(texts(&completion(formed)), ["100"]);
}

#[test]
fn probabilities_are_the_models_without_the_form() {
    let mut bench = Bench::new(CAPACITY, next_letter);
    let formed = bench.submit_formed("b", Generation { logprobs: Some(1), ..greedy(2) }, letters());
    bench.finish();
    let logprobs = completion(formed).choices.remove(0).logprobs;
    assert_eq!(logprobs[0].token, u32::from(b'"'));
    assert!(logprobs[0].logprob < -40.0, "{logprobs:?}");
    assert_eq!(logprobs[0].top[0].0, u32::from(b'c'));
}

#[test]
fn every_choice_follows_the_form_by_itself() {
    let mut bench = Bench::new(CAPACITY, letter_of_everything);
    let drawing = Generation { choices: 20, ..Generation::default() };
    let formed = bench.submit_formed("b", drawing, letters());
    bench.finish();
    for text in texts(&completion(formed)) {
        let inner = text.trim_matches('"');
        assert!(text.len() == 6 && inner.len() == 4 && inner.bytes().all(|byte| byte.is_ascii_lowercase()));
    }
}

#[test]
fn an_expensive_form_keeps_no_other_account_from_a_step() {
    let several = json!({ "type": "string", "pattern": "^(a?b?c?d?e?f?g?h?){12}x{0,40}(a|b|c|d){3,30}$" });
    let mut bench = Bench::new(CAPACITY, letter_of_everything);
    let formed: Vec<_> =
        (0..5).map(|_| bench.submit_of("one", "b", greedy(30), grammar(several.clone()))).collect();
    let free = bench.submit_of("other", "free", greedy(30), None);
    bench.finish();
    assert_eq!(completion(free).choices[0].tokens, 30);
    assert!(formed.into_iter().all(|formed| completion(formed).choices[0].tokens <= 30));
    let batches = bench.batches();
    let free = batches.iter().flatten().find(|entry| entry.token == u32::from(b'f')).expect("the prompt");
    let answers = batches.iter().filter(|batch| batch.iter().all(|entry| entry.wants_logits)).skip(1);
    let with_free =
        answers.take(29).filter(|batch| batch.iter().any(|entry| entry.sequence == free.sequence));
    // Six sequences take turns in steps of four if all take part.
    assert!(with_free.count() >= 29 * 4 / 6);
}

/// Makes accounts owe more than the steps of a test pay.
fn make_owe(bench: &mut Bench, accounts: &[&str]) {
    for account in accounts {
        bench.scheduler.debts.charge(&Arc::from(*account), Duration::from_secs(1), Some(Duration::ZERO));
    }
}

/// Computes steps until all requests are answered, at most 200.
fn finish_soon(bench: &mut Bench) {
    assert!((0..200).any(|_| !bench.scheduler.step()), "it stands still");
}

/// The steps of a prompt of one token, and of its answer.
fn steps_with(bench: &Bench, prompt: u8) -> Vec<usize> {
    let is_prompt = |entry: &&BatchEntry| entry.position == 0 && entry.token == u32::from(prompt);
    let batches = bench.batches();
    let found = |(step, batch): (usize, &Vec<BatchEntry>)| {
        batch.iter().find(is_prompt).map(|entry| (step, entry.sequence))
    };
    let (first, sequence) = batches.iter().enumerate().find_map(found).expect("the prompt");
    let takes_part = |step: &usize| batches[*step].iter().any(|entry| entry.sequence == sequence);
    (first..batches.len()).filter(takes_part).collect()
}

#[test]
fn an_account_that_owes_begins_no_form_beside_another_account() {
    let mut bench = Bench::new(CAPACITY, next_letter);
    make_owe(&mut bench, &["one"]);
    let free = bench.submit_of("other", "f", greedy(10), None);
    let formed = bench.submit_of("one", "b", greedy(100), letters());
    let free_of_one = bench.submit_of("one", "m", greedy(3), None);
    finish_soon(&mut bench);
    assert_eq!(texts(&completion(formed)), ["\"abcd\""]);
    assert_eq!((completion(free).choices[0].tokens, completion(free_of_one).choices[0].tokens), (10, 3));
    let (formed, free) = (steps_with(&bench, b'b'), steps_with(&bench, b'f'));
    assert!(formed.first() > free.last(), "{formed:?} {free:?}");
    assert!(steps_with(&bench, b'm')[0] < free[9]);
}

#[test]
fn forms_of_an_account_that_owes_sit_out_beside_another_account() {
    let mut bench = Bench::new(CAPACITY, next_letter);
    let formed = bench.submit_of("one", "b", greedy(100), letters());
    (0..3).for_each(|_| assert!(bench.scheduler.step()));
    make_owe(&mut bench, &["one"]);
    let free = bench.submit_of("other", "f", greedy(10), None);
    finish_soon(&mut bench);
    assert_eq!(texts(&completion(formed)), ["\"abcd\""]);
    assert_eq!(completion(free).choices[0].tokens, 10);
    let (formed, free) = (steps_with(&bench, b'b'), steps_with(&bench, b'f'));
    assert!(formed.iter().all(|step| *step < free[0] + 1 || *step > free[9]), "{formed:?} {free:?}");
}

#[test]
fn forms_of_an_account_that_owes_give_their_sequences_to_others_that_wait() {
    let mut bench = Bench::new(CAPACITY, letter_of_everything);
    let several = Generation { choices: CAPACITY.parallel, logprobs: Some(0), ..greedy(100) };
    let answer = |bench: &mut Bench| bench.submit_of("one", "a long prompt", several.clone(), letters());
    let undisturbed = answer(&mut bench);
    bench.finish();
    let formed = answer(&mut bench);
    (0..5).for_each(|_| assert!(bench.scheduler.step()));
    make_owe(&mut bench, &["one"]);
    let free = bench.submit_of("other", "f", greedy(10), None);
    finish_soon(&mut bench);
    let (formed, undisturbed) = (completion(formed), completion(undisturbed));
    assert_eq!(formed.choices, undisturbed.choices);
    assert_eq!(completion(free).choices[0].tokens, 10);
    let free = steps_with(&bench, b'f');
    assert_eq!(free.len(), 10, "one sequence is begun for it");
    assert!(free.windows(2).all(|steps| steps[1] == steps[0] + 1), "it waits for no other: {free:?}");
    let page = bench.metrics.render("m");
    assert!(page.contains("vllm:prompt_tokens_total{model_name=\"m\"} 27\n"), "{page}");
}

#[test]
fn accounts_that_owe_the_same_do_not_wait_for_each_other() {
    let mut bench = Bench::new(CAPACITY, next_letter);
    make_owe(&mut bench, &["one", "other"]);
    let answers = ["one", "other"].map(|account| bench.submit_of(account, "b", greedy(100), letters()));
    finish_soon(&mut bench);
    assert!(answers.into_iter().all(|answer| texts(&completion(answer)) == ["\"abcd\""]));
}

#[test]
fn a_form_that_grows_too_complex_fails_its_request_and_no_other() {
    let names = (0..1_200).map(|number| (format!("p{number}"), json!({ "type": "string" })));
    let wide = json!({ "type": "object", "properties": names.collect::<serde_json::Map<_, _>>() });
    let mut bench = Bench::new(CAPACITY, next_letter);
    let mut formed = bench.submit_formed("b", Generation { choices: 3, ..greedy(50) }, grammar(wide));
    let free = bench.submit("b", greedy(6));
    bench.finish();
    assert!(matches!(formed.try_recv(), Ok(Err(Failure::Form(_)))));
    assert_eq!(texts(&completion(free)), ["cdefgh"]);
}

#[test]
fn stop_tokens_end_the_answer_and_do_not_show() {
    let stopping = || Generation { stop_tokens: vec![u32::from(b'e')], ..greedy(100) };
    let answer = Bench::new(CAPACITY, next_letter).complete("a", stopping());
    assert_eq!(texts(&answer), ["bcd"]);
    assert_eq!((answer.choices[0].finish, answer.choices[0].tokens), (Finish::Stop, 4));
    let longer = Generation { tokens_min: 6, ..stopping() };
    let answer = Bench::new(CAPACITY, next_letter).complete("a", longer);
    assert!(answer.choices[0].tokens >= 6, "{answer:?}");
    assert!(!answer.choices[0].text.contains('e'), "{answer:?}");
}

#[test]
fn no_answer_is_shorter_than_asked() {
    let longer = Generation { tokens_min: 5, ..greedy(8) };
    let answer = Bench::new(CAPACITY, next_letter).complete("y", longer);
    assert!(answer.choices[0].tokens > 5 && answer.choices[0].text.starts_with('z'), "{answer:?}");
}

#[test]
fn only_allowed_tokens_are_drawn() {
    let allowed = TokenSet::of(&[u32::from(b'x'), u32::from(b'c'), END], 257);
    let allowing = Generation { allowed: Some(allowed), ..greedy(4) };
    let answer = Bench::new(CAPACITY, next_letter).complete("b", allowing);
    assert_eq!(texts(&answer), ["cccc"]);
}
