use super::{Bench, CAPACITY, completion, greedy, texts};
use crate::{
    fake::letter_of_everything,
    model::Capacity,
    scheduler::{Completion, Generation},
};

fn prompts(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{}, question {number}", "shared ".repeat(60))).collect()
}

fn alone(prompt: &str) -> Completion {
    Bench::new(CAPACITY, letter_of_everything).complete(prompt, greedy(20))
}

#[test]
fn a_prefix_that_arrives_eight_times_together_is_computed_once() {
    let prompts = prompts(8);
    let mut bench = Bench::new(CAPACITY, letter_of_everything);
    let answers: Vec<_> = prompts.iter().map(|prompt| bench.submit(prompt, greedy(20))).collect();
    bench.finish();
    for (prompt, answer) in prompts.iter().zip(answers) {
        let answer = completion(answer);
        assert_eq!(texts(&answer), texts(&alone(prompt)));
    }
    // The first prompt whole, of the others only the last digit, and 19 fed tokens each.
    assert_eq!(bench.computed_tokens(), prompts[0].len() + 7 + 8 * 19);
    assert_eq!(bench.metrics.prefix_counts(), (8 * prompts[0].len(), 7 * (prompts[0].len() - 1)));
}

#[test]
fn a_prefix_is_reused_after_its_request_ended() {
    let prompts = prompts(2);
    let mut bench = Bench::new(CAPACITY, letter_of_everything);
    assert_eq!(bench.complete(&prompts[0], greedy(20)).cached_tokens, 0);
    let second = bench.complete(&prompts[1], greedy(20));
    assert_eq!(second.cached_tokens, prompts[1].len() - 1);
    assert_eq!(texts(&second), texts(&alone(&prompts[1])));
}

#[test]
fn requests_with_different_salts_share_nothing() {
    let prompts = prompts(2);
    let mut bench = Bench::new(CAPACITY, letter_of_everything);
    let salts = ["one", "other", "one", "other"];
    let answers = salts.map(|salt| bench.submit_salted(&prompts[0], salt));
    bench.finish();
    // They run together: the first of each salt computes the prompt, and the second waits for it.
    let cached = answers.map(|answer| completion(answer).cached_tokens);
    assert_eq!(cached, [0, 0, prompts[0].len() - 1, prompts[0].len() - 1]);
    // The sequence that ended last is kept.
    let later = ["other", "third", "one"].map(|salt| {
        let answer = bench.submit_salted(&prompts[1], salt);
        bench.finish();
        completion(answer).cached_tokens
    });
    assert_eq!(later, [prompts[1].len() - 1, 0, 0]);
    assert_eq!(bench.complete(&prompts[1], greedy(1)).cached_tokens, 0, "without a salt");
}

#[test]
fn an_answer_is_part_of_the_next_turns_prefix() {
    let mut bench = Bench::new(CAPACITY, letter_of_everything);
    let first = bench.complete("How are you?", greedy(20));
    let next = format!("How are you?{} And then?", first.choices[0].text);
    // All but the last drawn token, which was never fed.
    assert_eq!(bench.complete(&next, greedy(5)).cached_tokens, 12 + 19);
}

#[test]
fn choices_share_their_prompt() {
    let prompt = &prompts(1)[0];
    let mut bench = Bench::new(CAPACITY, letter_of_everything);
    let answer = bench.complete(prompt, Generation { choices: 20, ..greedy(20) });
    assert_eq!(answer.choices.len(), 20);
    assert!(texts(&answer).iter().all(|text| *text == texts(&alone(prompt))[0]));
    // Once whole, then one token for each further choice's logits, and the drawn ones; later choices find them too.
    assert!(bench.computed_tokens() <= prompt.len() + 19 + 20 * 19, "{}", bench.computed_tokens());
}

#[test]
fn requests_that_join_late_change_no_answer() {
    let prompts = prompts(6);
    let mut bench = Bench::new(CAPACITY, letter_of_everything);
    let mut answers = Vec::new();
    for prompt in &prompts {
        answers.push(bench.submit(prompt, greedy(20)));
        (0..7).for_each(|_| assert!(bench.scheduler.step()));
    }
    bench.finish();
    for (prompt, answer) in prompts.iter().zip(answers) {
        assert_eq!(texts(&completion(answer)), texts(&alone(prompt)));
    }
}

#[test]
fn with_few_cells_requests_wait_and_all_are_answered() {
    let tight = Capacity { cells: 600, ..CAPACITY };
    let mut bench = Bench::new(tight, letter_of_everything);
    let prompts: Vec<String> =
        (0..12).map(|number| format!("{number} {}", "x".repeat(20 * number))).collect();
    let answers: Vec<_> = prompts.iter().map(|prompt| bench.submit(prompt, greedy(100))).collect();
    bench.finish();
    for (prompt, answer) in prompts.iter().zip(answers) {
        let expected = Bench::new(CAPACITY, letter_of_everything).complete(prompt, greedy(100));
        assert_eq!(texts(&completion(answer)), texts(&expected));
    }
}

#[test]
fn a_request_as_large_as_the_cache_finds_room_whatever_was_kept() {
    let tight = Capacity { cells: 600, ..CAPACITY };
    let mut bench = Bench::new(tight, letter_of_everything);
    bench.complete(&format!("{}first", "a".repeat(400)), greedy(150));
    let answer = bench.complete(&format!("{}second", "a".repeat(400)), greedy(usize::MAX));
    assert_eq!(answer.choices[0].tokens, 600 - 406);
}

#[test]
fn a_model_that_cannot_share_computes_every_prompt() {
    let recurrent = Capacity { shares_prefixes: false, sequences: 8, ..CAPACITY };
    let prompts = prompts(3);
    let mut bench = Bench::new(recurrent, letter_of_everything);
    let answers: Vec<_> = prompts.iter().map(|prompt| bench.submit(prompt, greedy(20))).collect();
    bench.finish();
    for (prompt, answer) in prompts.iter().zip(answers) {
        let answer = completion(answer);
        assert_eq!((texts(&answer), answer.cached_tokens), (texts(&alone(prompt)), 0));
    }
}

#[test]
fn a_request_that_has_to_repeat_takes_nothing_from_the_cache_where_it_is_alone() {
    let prompt = "p".repeat(300);
    let cached = |capacity: Capacity, amid: usize| {
        let mut bench = Bench::new(capacity, letter_of_everything);
        bench.complete(&prompt, greedy(2));
        let repeating = Generation { repeats: true, choices: 2, ..greedy(2) };
        let repeating = bench.submit(&prompt, repeating);
        let others: Vec<_> = (0..amid).map(|other| bench.submit(&format!("{other}"), greedy(2))).collect();
        bench.finish();
        others.into_iter().for_each(|other| drop(completion(other)));
        completion(repeating).cached_tokens
    };
    let single = Capacity { parallel: 1, ..CAPACITY };
    assert_eq!((cached(CAPACITY, 0), cached(single, 0), cached(single, 1)), (0, 0, 0));
    assert_eq!(cached(CAPACITY, 1), 299);
}
