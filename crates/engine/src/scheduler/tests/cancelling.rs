use super::{Bench, CAPACITY, completion, greedy, texts};
use crate::{
    fake::{FakeDecoder, letter_of_everything, next_letter},
    model::{Capacity, STEP_TOKENS_MAX},
    scheduler::Generation,
};

fn line<'page>(page: &'page str, name: &str) -> &'page str {
    page.lines().find(|line| line.contains(name) && !line.starts_with('#')).unwrap_or_default()
}

#[test]
fn a_request_whose_client_left_is_gone_at_the_next_step() {
    let mut bench = Bench::new(CAPACITY, letter_of_everything);
    let leaving = bench.submit("a", Generation { choices: 3, ..greedy(500) });
    let staying = bench.submit("b", greedy(30));
    (0..5).for_each(|_| assert!(bench.scheduler.step()));
    drop(leaving);
    bench.finish();
    assert_eq!(completion(staying).choices[0].tokens, 30);
    assert!(bench.batches().len() < 40, "{} steps", bench.batches().len());
    let page = bench.metrics.render("m");
    assert!(line(&page, "reason=\"abort\"").ends_with(" 1"), "{page}");
    assert!(line(&page, "num_requests_running").ends_with(" 0"), "{page}");
    assert!(line(&page, "kv_cache_usage_perc").ends_with(" 0"), "{page}");
}

#[test]
fn a_waiting_request_can_leave_and_lets_the_next_one_in() {
    let single = Capacity { parallel: 1, ..CAPACITY };
    let mut bench = Bench::new(single, next_letter);
    let first = bench.submit("a", greedy(10));
    let waiting = bench.submit("b", greedy(10));
    let last = bench.submit("c", greedy(10));
    assert!(bench.scheduler.step());
    let page = bench.metrics.render("m");
    assert!(line(&page, "num_requests_waiting").ends_with(" 2"), "{page}");
    drop(waiting);
    bench.finish();
    assert_eq!(texts(&completion(first)), ["bcdefghijk"]);
    assert_eq!(texts(&completion(last)), ["defghijklm"]);
    assert_eq!(bench.batches().len(), 20);
}

#[test]
fn what_a_cancelled_request_computed_is_kept() {
    let mut bench = Bench::new(CAPACITY, letter_of_everything);
    let prompt = "p".repeat(550);
    let leaving = bench.submit(&prompt, greedy(40));
    assert!(bench.scheduler.step());
    drop(leaving);
    bench.finish();
    assert_eq!(bench.complete(&prompt, greedy(1)).cached_tokens, STEP_TOKENS_MAX);
}

#[test]
fn one_that_waits_for_a_leaving_leaders_prefix_computes_it_itself() {
    let mut bench = Bench::new(CAPACITY, letter_of_everything);
    let prompt = "p".repeat(550);
    let leading = bench.submit(&prompt, greedy(100));
    let following = bench.submit(&prompt, greedy(4));
    assert!(bench.scheduler.step());
    drop(leading);
    bench.finish();
    assert_eq!(completion(following).choices[0].tokens, 4);
}

#[test]
fn a_step_that_fails_fails_its_requests_and_no_others() {
    let decoder = FakeDecoder::new(CAPACITY, letter_of_everything);
    let mut bench = Bench::with(CAPACITY, (decoder.0.failing_at(2), decoder.1));
    let mut several = bench.submit("several", Generation { choices: 12, ..greedy(50) });
    bench.finish();
    assert!(several.try_recv().expect("an answer").is_err());
    let expected = Bench::new(CAPACITY, letter_of_everything).complete("after", greedy(9));
    assert_eq!(texts(&bench.complete("after", greedy(9))), texts(&expected));
    let page = bench.metrics.render("m");
    assert!(line(&page, "reason=\"error\"").ends_with(" 1"), "{page}");
}
