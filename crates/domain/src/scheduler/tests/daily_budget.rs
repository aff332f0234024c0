//! Use of a replica's daily budget.

use super::super::daily_budget::{DailyBudget, DailyLimits, DailyUse};
use super::super::rate_window::Volume;
use super::super::{ModelKey, ReplicaKey};
use super::MODEL;

const DAY_MS: i64 = 86_400_000;
const NOON: i64 = 20_000 * DAY_MS + DAY_MS / 2;

fn limits(requests: u32, tokens: i64) -> DailyLimits {
    DailyLimits {
        requests_per_day: Some(requests).filter(|most| *most > 0),
        tokens_per_day: Some(tokens).filter(|most| *most > 0),
    }
}

/// A budget at noon with previous use.
fn budget(requests: u32, tokens: i64, used: i64) -> DailyBudget {
    let mut budget = DailyBudget::new(ReplicaKey(1), limits(requests, tokens));
    assert_eq!(budget.pass(NOON), None);
    tell(&mut budget, i64::from(used > 0), used);
    budget
}

/// The store answers with this sum.
fn tell(budget: &mut DailyBudget, requests: i64, tokens: i64) {
    let asked = budget.ask().unwrap();
    budget.note_stored(DailyUse { requests, tokens, ..asked });
}

fn tokens(budget: &DailyBudget) -> Option<i64> {
    budget.used().map(|used| used.tokens)
}

#[test]
fn nothing_is_sent_before_it_is_known_what_was_used() {
    let mut budget = DailyBudget::new(ReplicaKey(1), limits(0, 1_000));
    budget.pass(NOON);
    assert!(budget.is_unknown() && budget.fits(1).is_none() && budget.room() == 0);
    assert_eq!(budget.count_fitting(Volume::NONE, [1].into_iter()), None);
    let asked = budget.ask().unwrap();
    assert_eq!(asked, DailyUse { replica: ReplicaKey(1), day: 20_000, requests: 0, tokens: 0 });
    assert!(budget.ask().is_none() && !budget.is_unknown(), "one at a time");
    budget.note_stored(DailyUse { requests: 3, tokens: 400, ..asked });
    assert_eq!((budget.fits(600), budget.fits(601)), (Some(true), Some(false)));
    assert!(budget.ask().is_none(), "nothing is to be added");
}

#[test]
fn what_is_sent_is_added_once_and_counts_at_once() {
    let mut budget = budget(0, 1_000, 0);
    let first = budget.reserve(300).unwrap();
    assert_eq!((tokens(&budget), budget.fits(701)), (Some(300), Some(false)));
    let asked = budget.ask().unwrap();
    assert_eq!((asked.requests, asked.tokens), (1, 300));
    budget.correct(first, 100);
    assert_eq!((tokens(&budget), budget.is_written()), (Some(100), false));
    budget.note_stored(DailyUse { tokens: 350, ..asked });
    assert_eq!(tokens(&budget), Some(150), "another node used some too");
    let asked = budget.ask().unwrap();
    assert_eq!((asked.requests, asked.tokens), (0, -200));
    budget.note_stored(DailyUse { requests: 1, tokens: 150, ..asked });
    assert!(budget.is_written() && tokens(&budget) == Some(150));
}

#[test]
fn what_never_reached_the_engine_does_not_count() {
    let mut budget = budget(2, 0, 0);
    budget.reserve(10);
    let second = budget.reserve(10).unwrap();
    assert_eq!((budget.fits(1), budget.room()), (Some(false), 0));
    budget.cancel(second);
    assert_eq!((budget.fits(1), budget.room()), (Some(true), 1));
}

#[test]
fn a_request_above_the_whole_budget_fits_on_a_fresh_day_alone() {
    let mut budget = budget(0, 100, 0);
    assert_eq!(budget.fits(5_000), Some(true));
    let reservation = budget.reserve(5_000).unwrap();
    assert_eq!(budget.fits(1), Some(false));
    budget.correct(reservation, 40);
    assert_eq!((budget.fits(60), budget.fits(5_000)), (Some(true), Some(false)));
}

#[test]
fn what_is_leased_and_not_sent_counts_too() {
    let budget = budget(4, 1_000, 300);
    let unsent = Volume::NONE.with(300);
    let fitting = |tokens: &[i64]| budget.count_fitting(unsent, tokens.iter().copied());
    assert_eq!((fitting(&[100, 100, 100]), fitting(&[100, 301]), fitting(&[401])), (Some(2), Some(1), None));
}

#[test]
fn at_midnight_all_of_it_is_there_again() {
    let mut budget = budget(0, 1_000, 900);
    let reservation = budget.reserve(100).unwrap();
    assert!(budget.is_spent_for(MODEL));
    let midnight = 20_001 * DAY_MS;
    assert_eq!((budget.ends_at(), budget.pass(midnight - 1)), (midnight, None));
    let rest = budget.pass(midnight).unwrap();
    assert_eq!((rest.day, rest.requests, rest.tokens), (20_000, 1, 100), "it belongs to the day before");
    assert!(!budget.is_spent_for(MODEL) && budget.is_unknown());
    tell(&mut budget, 0, 0);
    budget.note_stored(DailyUse { requests: 11, tokens: 1_000, ..rest });
    budget.correct(reservation, 5);
    budget.cancel(reservation);
    assert_eq!(tokens(&budget), Some(0), "what is heard of the day before changes nothing");
    assert_eq!(budget.fits(1_000), Some(true));
}

#[test]
fn a_clock_that_is_set_back_over_midnight_goes_on_with_what_was_used() {
    let mut budget = budget(0, 1_000, 0);
    let reservation = budget.reserve(700).unwrap();
    let before = budget.pass(NOON + DAY_MS).unwrap();
    tell(&mut budget, 0, 0);
    assert_eq!(budget.fits(1_000), Some(true));
    assert_eq!(budget.pass(NOON), None);
    assert_eq!(budget.fits(1), None, "the store is asked first");
    tell(&mut budget, before.requests, before.tokens);
    assert_eq!(budget.fits(301), Some(false));
    budget.correct(reservation, 100);
    assert_eq!(tokens(&budget), Some(100));
}

#[test]
fn who_was_held_back_is_tried_again_in_a_minute_or_when_there_is_more() {
    let other = ModelKey(2);
    let mut budget = budget(0, 1_000, 400);
    let reservation = budget.reserve(500).unwrap();
    budget.hold_back(MODEL, NOON);
    assert!(budget.is_spent_for(MODEL) && !budget.is_spent_for(other) && budget.is_short());
    budget.pass(NOON + 60_001);
    assert!(!budget.is_spent_for(MODEL) && !budget.is_short());
    budget.hold_back(MODEL, NOON);
    budget.correct(reservation, 500);
    assert!(budget.is_spent_for(MODEL), "there is no more than before");
    budget.correct(reservation, 499);
    assert!(!budget.is_spent_for(MODEL) && !budget.is_short());
    budget.hold_back(MODEL, NOON);
    budget.pass(NOON - 3_600_000);
    assert!(!budget.is_spent_for(MODEL) && !budget.is_short(), "the clock was set back");
}

#[test]
fn other_limits_hold_at_once() {
    let mut budget = budget(0, 1_000, 900);
    budget.set_limits(limits(0, 1_000));
    assert_eq!(budget.fits(100), Some(true), "they are the same");
    budget.set_limits(limits(0, 800));
    assert_eq!(budget.fits(1), None);
    tell(&mut budget, 9, 900);
    assert!(budget.is_spent_for(MODEL));
    budget.set_limits(DailyLimits::default());
    assert!(budget.fits(i64::MAX) == Some(true) && budget.used().is_none() && budget.ask().is_none());
}

#[test]
fn without_limits_nothing_is_counted() {
    let mut budget = DailyBudget::new(ReplicaKey(1), DailyLimits::default());
    budget.pass(NOON);
    assert!((0..100).all(|_| budget.reserve(i64::MAX).is_none()));
    assert_eq!((budget.room(), budget.ask(), budget.used()), (usize::MAX, None, None));
    assert_eq!(budget.count_fitting(Volume::NONE, [i64::MAX].into_iter()), Some(usize::MAX));
    assert!(budget.is_written() && !budget.is_spent_for(MODEL));
}

#[test]
fn at_the_end_what_is_unwritten_is_handed_over() {
    let mut budget = budget(0, 1_000, 0);
    budget.reserve(10);
    let asked = budget.ask().unwrap();
    budget.reserve(7);
    let rest = budget.take_unwritten().unwrap();
    assert_eq!((asked.tokens, rest.tokens, budget.take_unwritten()), (10, 7, None));
}
