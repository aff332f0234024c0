use super::{Bench, CAPACITY, completion, greedy, texts};
use crate::{
    fake::next_letter,
    model::{BatchEntry, Capacity, STEP_TOKENS_MAX},
    sampling::Sampling,
    scheduler::{Finish, Generation},
};

#[test]
fn the_models_end_of_turn_ends_the_answer_and_counts() {
    let answer = Bench::new(CAPACITY, next_letter).complete("say w", greedy(100));
    assert_eq!(texts(&answer), ["xyz"]);
    assert_eq!((answer.choices[0].finish, answer.choices[0].tokens), (Finish::Stop, 4));
    assert_eq!((answer.prompt_tokens, answer.cached_tokens), (5, 0));
}

#[test]
fn an_end_that_is_passed_over_does_not_end_it() {
    let ignoring = Generation { ignores_end: true, ..greedy(6) };
    let answer = Bench::new(CAPACITY, next_letter).complete("y", ignoring);
    assert_eq!((answer.choices[0].finish, answer.choices[0].tokens), (Finish::Length, 6));
}

#[test]
fn the_allowed_length_ends_the_answer() {
    let answer = Bench::new(CAPACITY, next_letter).complete("a", greedy(3));
    assert_eq!(texts(&answer), ["bcd"]);
    assert_eq!(answer.choices[0].finish, Finish::Length);
}

#[test]
fn the_context_ends_what_the_request_does_not() {
    let prompt = "a".repeat(CAPACITY.context - 2);
    let answer = Bench::new(CAPACITY, next_letter).complete(&prompt, greedy(usize::MAX));
    assert_eq!(texts(&answer), ["bc"]);
    assert_eq!(answer.choices[0].finish, Finish::Length);
}

#[test]
fn a_stop_string_ends_the_answer_before_it() {
    let stopping = Generation { stops: vec!["efg".to_owned()], ..greedy(100) };
    let answer = Bench::new(CAPACITY, next_letter).complete("a", stopping);
    assert_eq!(texts(&answer), ["bcd"]);
    assert_eq!((answer.choices[0].finish, answer.choices[0].tokens), (Finish::Stop, 6));
}

#[test]
fn probabilities_are_given_for_the_tokens_of_the_text() {
    let asking = Generation { logprobs: Some(2), stops: vec!["d".to_owned()], ..greedy(100) };
    let answer = Bench::new(CAPACITY, next_letter).complete("a", asking);
    let logprobs = &answer.choices[0].logprobs;
    let tokens: Vec<u32> = logprobs.iter().map(|logprobs| logprobs.token).collect();
    assert_eq!(tokens, [u32::from(b'b'), u32::from(b'c')]);
    assert!(logprobs.iter().all(|logprobs| logprobs.logprob > -0.001 && logprobs.top.len() == 2));
}

#[test]
fn every_choice_has_a_seed_of_its_own_and_repeats_with_it() {
    let drawing = || Generation {
        choices: 4,
        sampling: Sampling { temperature: 2.0, bias: vec![(98, -49.0)], seed: 5, ..Sampling::default() },
        ..greedy(8)
    };
    let mut bench = Bench::new(CAPACITY, next_letter);
    let first = bench.complete("a", drawing());
    assert_eq!(first.choices.len(), 4);
    assert!(texts(&first).iter().any(|text| *text != texts(&first)[0]), "{first:?}");
    assert_eq!(texts(&bench.complete("a", drawing())), texts(&first));
}

#[test]
fn more_choices_than_run_at_once_all_come() {
    let answer = Bench::new(CAPACITY, next_letter).complete("a", Generation { choices: 128, ..greedy(2) });
    assert_eq!(texts(&answer), ["bc"; 128]);
}

#[test]
fn no_step_is_larger_than_allowed_and_each_request_is_answered() {
    let mut bench = Bench::new(CAPACITY, next_letter);
    let answers: Vec<_> =
        (0..8).map(|digit| bench.submit(&format!("{digit}").repeat(500), greedy(1))).collect();
    bench.finish();
    answers.into_iter().for_each(|answer| assert_eq!(completion(answer).choices[0].tokens, 1));
    assert_eq!(bench.batches().iter().map(Vec::len).max(), Some(STEP_TOKENS_MAX));
}

#[test]
fn prompts_that_never_end_leave_every_other_step_to_the_answers() {
    let mut bench = Bench::new(CAPACITY, next_letter);
    let mut answering = bench.submit("a", greedy(20));
    bench.scheduler.step();
    for number in 0..20 {
        drop(bench.submit(&format!("{number:02}").repeat(250), greedy(1)));
        let long = bench.submit(&format!("{number:02}").repeat(280), greedy(1));
        bench.scheduler.step();
        bench.scheduler.step();
        drop(long);
    }
    assert_eq!(answering.try_recv().expect("an answer").expect("a completion").choices[0].tokens, 20);
    for batch in bench.batches() {
        let ones = batch.iter().filter(|entry| entry.wants_logits).count();
        assert!(batch.len() > 1 || ones == 1, "a step has either prompts or answers");
    }
}

#[test]
fn steps_hold_full_tiles_and_all_sequences_come_to_their_turn() {
    let many = Capacity { parallel: 11, ..CAPACITY };
    let mut bench = Bench::new(many, next_letter);
    let mut answers: Vec<_> =
        (0..11).map(|number| bench.submit(&format!("{number:02}-a"), greedy(17))).collect();
    bench.scheduler.step();
    for _ in 0..11 {
        bench.scheduler.step();
        assert_eq!(bench.batches().last().map(Vec::len), Some(8));
    }
    // 88 tokens, 8 for each: none ends before the last steps.
    for _ in 0..9 {
        bench.scheduler.step();
        assert!(answers.iter_mut().all(|answer| answer.try_recv().is_err()));
    }
    bench.scheduler.step();
    bench.scheduler.step();
    assert!(answers.iter_mut().all(|answer| answer.try_recv().is_ok()));
}

#[test]
fn where_a_rest_of_a_tile_costs_nothing_every_sequence_takes_part_in_every_step() {
    let many = Capacity { parallel: 11, tile_tokens: 1, ..CAPACITY };
    let mut bench = Bench::new(many, next_letter);
    let answers: Vec<_> = (0..11).map(|number| bench.submit(&format!("{number:02}-a"), greedy(5))).collect();
    bench.finish();
    assert!(bench.batches().iter().skip(1).all(|batch| batch.len() == 11));
    assert!(answers.into_iter().all(|answer| completion(answer).choices[0].tokens == 5));
}

#[test]
fn a_sequence_joins_only_where_it_saves_the_others_more_than_it_costs_them() {
    let largest = |masked_cells: usize, prompts: &[String]| {
        let narrow = Capacity { masked_cells, ..CAPACITY };
        let mut bench = Bench::new(narrow, next_letter);
        let answers: Vec<_> = prompts.iter().map(|prompt| bench.submit(prompt, greedy(20))).collect();
        bench.finish();
        assert!(answers.into_iter().all(|answer| completion(answer).choices[0].tokens == 20));
        let answering =
            |batch: &Vec<BatchEntry>| batch.len() <= 8 && batch.iter().all(|entry| entry.wants_logits);
        bench.batches().iter().filter(|batch| answering(batch)).map(Vec::len).max()
    };
    let distinct: Vec<String> = (0..8).map(|number| format!("{number}").repeat(90)).collect();
    // A sequence has 90 cells and 10 on average of its answer: two others may have it for 600, seven for 5,600.
    assert_eq!(largest(5_600, &distinct), Some(8));
    assert_eq!(largest(1_999, &distinct), Some(4));
    assert_eq!(largest(600, &distinct), Some(3));
    assert_eq!(largest(0, &distinct), Some(1));
    // Shared cells cost once: the first holds 100, the others 11 each.
    let shared: Vec<String> = (0..8).map(|number| format!("{}{number}", "s".repeat(89))).collect();
    assert_eq!(largest(4 * (100 + 7 * 11), &shared), Some(8));
}

#[test]
fn a_long_sequence_waits_until_few_are_left_and_not_until_all_have_ended() {
    let running = |masked_cells: usize| {
        let mut bench = Bench::new(Capacity { masked_cells, ..CAPACITY }, next_letter);
        let prompts = (0..5).map(|number| format!("{number}").repeat(if number == 4 { 390 } else { 90 }));
        let answers: Vec<_> = prompts.map(|prompt| bench.submit(&prompt, greedy(20))).collect();
        bench.scheduler.step();
        drop(answers);
        let page = bench.metrics.render("m");
        let line = page.lines().find(|line| line.contains("num_requests_running{")).expect("a line");
        line.rsplit(' ').next().expect("a number").to_owned()
    };
    // Four hold 100 cells each, and the long one 400: together 800.
    assert_eq!((running(4 * 800), running(4 * 800 - 1)), ("5".to_owned(), "4".to_owned()));
}

#[test]
fn a_request_of_many_choices_takes_turns_with_those_that_came_after_it() {
    let mut bench = Bench::new(CAPACITY, next_letter);
    let mut greedy_ones: Vec<_> =
        ["a", "b"].map(|prompt| bench.submit(prompt, Generation { choices: 128, ..greedy(20) })).into();
    bench.scheduler.step();
    let mut single = bench.submit("c", greedy(20));
    // All sequences are taken: it begins when the first of them end, and ends with the next ones.
    for _ in 0..45 {
        bench.scheduler.step();
    }
    assert_eq!(single.try_recv().expect("an answer").expect("a completion").choices.len(), 1);
    assert!(greedy_ones.iter_mut().all(|answer| answer.try_recv().is_err()));
    bench.finish();
    assert!(greedy_ones.into_iter().all(|answer| completion(answer).choices.len() == 128));
}
