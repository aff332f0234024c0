//! Limits of concurrent requests to a replica.

use super::super::concurrency::ConcurrencyLimit;
use super::super::messages::EngineLoad;

const SECOND: i64 = 1_000;

fn load(running: i64, waiting: i64) -> EngineLoad {
    EngineLoad { running, waiting, cache_permille: 0, preemptions: 0 }
}

/// An engine with room for `room` requests reports its load each second, while all of the limit is used.
fn told(limit: &mut ConcurrencyLimit, room: usize, seconds: std::ops::Range<i64>) {
    for second in seconds {
        let sent = limit.current();
        limit.note_in_flight(sent);
        let running = i64::try_from(sent.min(room)).unwrap();
        limit.note_completion(1, second * SECOND);
        limit.note_load(load(running, i64::try_from(sent).unwrap() - running), sent, second * SECOND);
    }
}

#[test]
fn a_limit_finds_what_an_engine_has_room_for_and_follows_it() {
    let mut limit = ConcurrencyLimit::new(64, 1_024);
    told(&mut limit, 200, 0..60);
    assert!((190..=215).contains(&limit.current()), "{}", limit.current());
    told(&mut limit, 20, 60..90);
    assert!((17..=23).contains(&limit.current()), "{}", limit.current());
    told(&mut limit, 200, 90..240);
    assert!((150..=215).contains(&limit.current()), "{}", limit.current());
}

#[test]
fn it_stays_within_what_the_settings_say() {
    let mut limit = ConcurrencyLimit::new(8, 8);
    told(&mut limit, 100, 0..20);
    assert_eq!(limit.current(), 8);
    told(&mut limit, 0, 20..60);
    assert!((1..=2).contains(&limit.current()), "one is always sent");
    limit.set_most(4);
    told(&mut limit, 100, 60..90);
    assert_eq!(limit.current(), 4);
}

#[test]
fn what_is_not_used_does_not_grow() {
    let mut limit = ConcurrencyLimit::new(64, 1_024);
    limit.note_in_flight(63);
    limit.note_load(load(63, 0), 63, SECOND);
    assert_eq!(limit.current(), 64);
}

#[test]
fn one_moment_of_waiting_is_no_sign_and_a_full_cache_stops_growth() {
    let mut limit = ConcurrencyLimit::new(64, 1_024);
    for (second, waiting) in [(1, 0), (2, 30), (3, 0), (4, 30)] {
        limit.note_load(load(64, waiting), 64, second * SECOND);
    }
    assert_eq!(limit.current(), 64);
    limit.note_load(load(64, 0), 64, 5 * SECOND);
    for second in 6..9 {
        limit.note_in_flight(64);
        limit.note_completion(1, second * SECOND);
        limit.note_load(EngineLoad { cache_permille: 980, ..load(64, 0) }, 64, second * SECOND);
    }
    assert_eq!(limit.current(), 64);
}

#[test]
fn a_preemption_lowers_it_at_once_and_growth_rests() {
    let mut limit = ConcurrencyLimit::new(64, 1_024);
    limit.note_load(EngineLoad { preemptions: 7, ..load(64, 0) }, 64, SECOND);
    assert_eq!(limit.current(), 64, "those before our time tell nothing");
    limit.note_load(EngineLoad { preemptions: 8, ..load(64, 0) }, 64, 2 * SECOND);
    assert_eq!(limit.current(), 56);
    for second in 3..12 {
        limit.note_in_flight(56);
        limit.note_completion(1, second * SECOND);
        limit.note_load(EngineLoad { preemptions: 8, ..load(56, 0) }, 56, second * SECOND);
    }
    assert_eq!(limit.current(), 56);
    for second in 12..14 {
        limit.note_in_flight(limit.current());
        limit.note_completion(1, second * SECOND);
        limit.note_load(EngineLoad { preemptions: 8, ..load(56, 0) }, 56, second * SECOND);
    }
    assert!(limit.current() > 56);
}

#[test]
fn what_the_engine_told_before_it_has_worked_counts_for_nothing() {
    let mut limit = ConcurrencyLimit::new(64, 1_024);
    for second in 0..20 {
        limit.note_in_flight(64);
        limit.note_load(load(0, 0), 64, second * SECOND);
    }
    assert_eq!(limit.current(), 64, "its first step takes long");
    limit.note_load(load(3, 61), 64, 20 * SECOND);
    for second in 21..40 {
        limit.note_load(load(3, 61), 64, second * SECOND);
    }
    assert_eq!(limit.current(), 64, "one look, many times");
    limit.note_load(load(4, 60), 64, 40 * SECOND);
    assert_eq!(limit.current(), 32);
    for second in 41..50 {
        limit.note_load(load(5, second - 1), 60, second * SECOND);
    }
    assert_eq!(limit.current(), 32, "there are still more in flight");
    limit.note_load(load(5, 27), 32, 50 * SECOND);
    assert_eq!(limit.current(), 16);
}

#[test]
fn requests_too_short_to_be_seen_at_work_are_counted_when_they_are_completed() {
    let mut limit = ConcurrencyLimit::new(8, 1_024);
    for second in 0..4 {
        limit.note_in_flight(limit.current());
        (0..3).for_each(|_| limit.note_completion(1, second * SECOND));
        limit.note_load(load(1, 0), 8, second * SECOND);
        assert_eq!(limit.current(), if second < 2 { 8 } else { 12 });
    }
}

/// Returns the limits of an engine without metrics that completes a request in so many microseconds at each limit, all of which is used.
fn silent(limit: &mut ConcurrencyLimit, takes_us: impl Fn(usize) -> usize, seconds: i64) -> Vec<usize> {
    let (mut now_us, mut seen) = (0, Vec::new());
    while now_us < seconds * SECOND * 1_000 {
        limit.note_in_flight(limit.current());
        now_us += i64::try_from(takes_us(limit.current())).unwrap();
        limit.note_completion(100, now_us / 1_000);
        seen.push(limit.current());
    }
    seen
}

#[test]
fn an_engine_that_tells_nothing_is_tried_with_more_while_that_brings_more() {
    let mut limit = ConcurrencyLimit::new(64, 1_024);
    silent(&mut limit, |sent| 2_000_000 / sent.min(150), 600);
    assert!((140..=330).contains(&limit.current()), "{}", limit.current());
}

#[test]
fn what_brought_no_more_is_taken_back_and_tried_again_ever_less_often() {
    let mut limit = ConcurrencyLimit::new(64, 1_024);
    let seen = silent(&mut limit, |_| 25_000, 3_600);
    assert!(seen.iter().all(|it| [64, 96, 80].contains(it)));
    let at_first = seen.iter().filter(|it| **it == 64).count();
    assert!(at_first * 10 > seen.len() * 9, "{at_first} of {}", seen.len());
}

#[test]
fn while_the_load_is_told_completions_do_not_count() {
    let mut limit = ConcurrencyLimit::new(64, 1_024);
    for step in 0..4_000_i64 {
        if step % 100 == 0 {
            limit.note_load(EngineLoad { cache_permille: 1_000, ..load(64, 0) }, 64, step * 10);
        }
        limit.note_in_flight(64);
        limit.note_completion(100, step * 10);
    }
    assert_eq!(limit.current(), 64);
}

#[test]
fn a_refusal_lowers_it() {
    let mut limit = ConcurrencyLimit::new(64, 64);
    limit.note_refusal();
    assert_eq!(limit.current(), 64, "but not one that somebody has set");
    let mut limit = ConcurrencyLimit::new(64, 65);
    limit.note_refusal();
    assert_eq!(limit.current(), 56);
    for _ in 0..100 {
        limit.note_refusal();
    }
    assert_eq!(limit.current(), 1);
}
