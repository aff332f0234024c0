//! Requests that go first because not all will be done in time.

use super::super::deadlines::{Danger, STEP_MS, endangered};
use super::super::*;
use super::desk::Desk;

const MINUTE: i64 = 60_000;
const GUARD_MS: i64 = 10 * MINUTE;

fn step(minute: i64, cost: i64) -> DeadlineStep {
    DeadlineStep { from: minute * MINUTE, count: 1, cost }
}

/// What goes first, in minutes, if a cost of one takes a minute.
fn first(steps: &[DeadlineStep]) -> Option<i64> {
    endangered(steps, 0, |cost| Some(cost * MINUTE), GUARD_MS, 0).map(|it| it.last / MINUTE)
}

#[test]
fn nothing_goes_first_while_all_work_fits_with_half_as_much_and_the_guard() {
    assert_eq!(first(&[]), None);
    assert_eq!(first(&[step(100, 60), step(200, 60)]), None, "90 and 10 minutes, 180 and 10");
    assert_eq!(
        first(&[step(100, 61), step(1_000, 60)]),
        Some(104),
        "of which the second would not be in time"
    );
    assert_eq!(first(&[step(100, 10), step(200, 120)]), Some(204), "only together they are too much");
}

#[test]
fn whatever_can_be_swept_before_the_danger_goes_along() {
    assert_eq!(
        first(&[step(95, 60), step(300, 15), step(600, 9)]),
        Some(304),
        "72, 90 and 100 of 95 minutes"
    );
    assert_eq!(first(&[step(95, 200), step(300, 1)]), Some(99));
    assert_eq!(first(&[step(-10, 1), step(300, 1)]), Some(-5), "what is overdue comes before all others");
}

#[test]
fn what_is_under_way_comes_before() {
    let first = |under_way| endangered(&[step(100, 40)], under_way, |cost| Some(cost * MINUTE), GUARD_MS, 0);
    assert_eq!((first(20), first(21).is_some()), (None, true));
}

#[test]
fn work_whose_pace_is_unknown_takes_an_hour() {
    let unknown = |minute| endangered(&[step(minute, 1)], 0, |_| None, GUARD_MS, 0);
    assert_eq!(unknown(100), None);
    assert_eq!(unknown(99), Some(Danger { first: 99 * MINUTE, last: 99 * MINUTE + STEP_MS - 1 }));
}

/// A desk with one replica for four requests, and these requests of account 1, each due at its minute from now.
fn desk(dues: impl IntoIterator<Item = (i64, i64)>) -> Desk {
    let mut desk = Desk::new(&[4]);
    let now = desk.now;
    desk.enqueue_due(1, dues.into_iter().map(|(seq, minute)| (seq, now + minute * MINUTE)));
    desk
}

fn work(desk: &mut Desk, seconds: i64) -> Vec<i64> {
    let mut completed = Vec::new();
    for _ in 0..seconds {
        desk.wait(1_000);
        for seq in desk.flying() {
            desk.complete(seq);
            completed.push(seq);
        }
    }
    completed
}

#[test]
fn what_is_in_danger_is_done_before_all_others_and_in_time() {
    // 4,000 seconds of work at four a second; every eighth request is due within the hour.
    let mut desk = desk((0..16_000).map(|seq| (seq, if seq % 8 == 7 { 40 } else { 1_440 })));
    let completed = work(&mut desk, 40 * 60);
    let in_time = completed.iter().filter(|seq| *seq % 8 == 7).count();
    assert_eq!(in_time, 2_000);
    assert!(completed.len() > 9_500, "no slot stays idle: {}", completed.len());
}

#[test]
fn without_danger_the_order_stays_what_it_is() {
    let mut desk = desk((0..8_000).map(|seq| (seq, if seq % 8 == 7 { 400 } else { 1_440 })));
    let completed = work(&mut desk, 60 * 10);
    assert!(completed.is_sorted());
}
