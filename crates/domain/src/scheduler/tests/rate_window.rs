//! The window of the last minute.

use super::super::random::Random;
use super::super::rate_window::{RateLimits, RateWindow, Volume};

const START: i64 = 1_000_400;

fn window(requests: u32, tokens: i64) -> RateWindow {
    let requests_per_minute = Some(requests).filter(|most| *most > 0);
    RateWindow::new(RateLimits {
        requests_per_minute,
        tokens_per_minute: Some(tokens).filter(|most| *most > 0),
    })
}

#[test]
fn no_minute_has_more_than_the_limits_wherever_it_begins() {
    for seed in 0..20 {
        let (mut random, mut window) = (Random::new(seed), window(20, 1_000));
        let (mut now, mut sent) = (START, Vec::<(i64, i64)>::new());
        while now < START + 1_200_000 {
            now += random.up_to(if seed % 2 == 0 { 50 } else { 4_000 });
            let tokens = 1 + random.up_to(120);
            if window.fits(tokens, now) {
                window.reserve(tokens, now);
                sent.push((now, tokens));
            }
        }
        for (index, (from, _)) in sent.iter().enumerate() {
            let minute: Vec<_> = sent[index..].iter().take_while(|(at, _)| at - from < 60_000).collect();
            let tokens: i64 = minute.iter().map(|(_, tokens)| tokens).sum();
            assert!(minute.len() <= 20 && tokens <= 1_000, "seed {seed}: {} of {tokens}", minute.len());
        }
        assert!(sent.len() > 250, "seed {seed}: and hardly less: {}", sent.len());
    }
}

#[test]
fn room_is_back_when_the_second_in_which_it_was_used_is_a_minute_old() {
    let mut window = window(2, 0);
    window.reserve(7, START);
    window.reserve(7, START + 599);
    assert_eq!((window.room(START + 600), window.opens_at(START + 600)), (0, Some(1_061_000)));
    assert_eq!((window.room(1_060_999), window.room(1_061_000)), (0, 2));
    assert_eq!(window.opens_at(1_061_000), None);
    assert!(!window.is_empty(1_060_999) && window.is_empty(1_061_000));
}

#[test]
fn a_completion_gives_back_what_it_did_not_use_and_takes_what_it_used_besides() {
    let mut window = window(0, 1_000);
    let first = window.reserve(600, START).unwrap();
    assert!(window.fits(400, START) && !window.fits(401, START));
    window.correct(first, 100);
    assert!(window.fits(900, START) && !window.fits(901, START));
    let second = window.reserve(500, START + 30_000).unwrap();
    window.correct(second, 2_000);
    assert!(!window.fits(1, START + 30_000), "more than was estimated");
    assert_eq!(window.room_at(1, START + 30_000), 1_091_000);
    window.pass(1_091_000);
    window.correct(second, 0);
    assert!(window.fits(1_000, 1_091_000), "what no longer counts is not corrected");
    let third = window.reserve(900, 1_091_000).unwrap();
    window.cancel(third);
    assert!(window.fits(1_000, 1_091_000));
}

#[test]
fn a_request_above_the_whole_limit_fits_where_nothing_else_counts() {
    let mut window = window(0, 100);
    assert!(window.fits(5_000, START));
    window.reserve(1, START);
    assert!(!window.fits(5_000, START));
    assert_eq!(window.room_at(5_000, START), 1_061_000);
    window.reserve(5_000, 1_061_000);
    assert!(!window.fits(1, 1_061_000) && window.fits(1, 1_122_000));
}

#[test]
fn what_is_leased_and_not_sent_counts_too() {
    let mut window = window(4, 1_000);
    window.reserve(300, START);
    let unsent = Volume::NONE.with(300);
    let fitting = |tokens: &[i64]| window.count_fitting(unsent, tokens.iter().copied(), START);
    assert_eq!((fitting(&[100, 100, 100]), fitting(&[100, 301]), fitting(&[401])), (Ok(2), Ok(1), Err(401)));
    assert_eq!(fitting(&[]), Ok(0));
}

#[test]
fn who_waits_for_much_room_keeps_what_there_is() {
    let mut window = window(0, 1_000);
    window.reserve(800, START);
    assert!(window.room(START) > 0);
    window.want(500);
    assert_eq!((window.room(START), window.opens_at(START)), (0, Some(1_061_000)));
    window.want(0);
    assert!(window.room(START) > 0);
}

#[test]
fn a_clock_that_is_set_back_closes_no_window_for_longer() {
    let mut window = window(1, 0);
    window.reserve(1, START + 3_600_000);
    window.pass(START);
    assert_eq!(window.opens_at(START), Some(1_061_000));
}

#[test]
fn without_limits_nothing_is_counted() {
    let mut window = window(0, 0);
    assert!((0..100).all(|_| window.reserve(i64::MAX, START).is_none()));
    assert_eq!((window.room(START), window.opens_at(START)), (usize::MAX, None));
    assert!(window.is_empty(START));
}
