//! What is known of one group.

use super::super::groups::GroupState;
use super::{candidate, position};

#[test]
fn a_retry_becomes_visible_when_its_time_has_come_and_not_before() {
    let mut group = GroupState::new(false, 0);
    let at = group.delay(1_000, 0);
    assert!((1_000..=1_064).contains(&at));
    assert_eq!(group.delay(5_000, 0), at, "the earliest time is the one to wake up for");
    assert!(!group.is_visible() && group.waiting() == 2);
    assert_eq!(group.mature(at - 1), Some(at));
    assert!(group.mature(at).is_some_and(|next| next >= 5_000));
    assert!(group.is_visible() && group.waiting() == 2);
}

#[test]
fn a_request_given_back_at_once_is_not_looked_for_before_the_write() {
    assert!(GroupState::new(false, 0).delay(0, 0) >= 50);
}

#[test]
fn an_empty_revolution_corrects_the_count_and_the_group_is_looked_at_again_until_forgotten() {
    let mut group = GroupState::new(false, 0);
    group.add(7, 0);
    group.sweep.ask(0);
    let is_empty = group.sweep.absorb(std::iter::empty(), None, true, 0);
    group.correct(is_empty, 0);
    assert!(!group.is_visible() && group.waiting() == 0);
    let mut scans = Vec::new();
    for second in 0..10_000 {
        if group.repair(second * 1_000) {
            break;
        }
        if group.is_visible() {
            scans.push(second);
            group.sweep.ask(second * 1_000);
            let is_empty = group.sweep.absorb(std::iter::empty(), None, true, second * 1_000);
            group.correct(is_empty, second * 1_000);
        }
    }
    assert_eq!(scans, [10, 30, 70, 150, 310, 630]);
}

#[test]
fn a_group_with_held_requests_is_looked_at_every_ten_seconds() {
    let mut group = GroupState::new(false, 0);
    group.held = 1;
    for round in 1..50 {
        let now = round * 10_000;
        assert!(!group.repair(now) && group.is_visible());
        group.sweep.ask(now);
        let is_empty = group.sweep.absorb(std::iter::empty(), None, true, now);
        group.correct(is_empty, now);
    }
}

#[test]
fn a_look_in_the_middle_of_the_order_does_not_end_the_suspicion_of_a_wrong_count() {
    let mut group = GroupState::new(false, 0);
    group.add(1, 0);
    group.sweep.ask(0);
    group.sweep.absorb([candidate(5)].into_iter(), Some(position(5)), false, 0);
    group.correct(false, 0);
    assert_eq!(group.take(1, 0).len(), 1);
    group.repair(10_000);
    assert!(group.is_visible());
    assert_eq!(group.sweep.ask(10_000), Some(Some(position(5))));
    let is_empty = group.sweep.absorb(std::iter::empty(), None, true, 10_000);
    group.correct(is_empty, 10_000);
    assert!(group.is_visible(), "what lies before the cursor was not scanned yet");
}
