//! What is known of one partition.

use super::super::messages::ReplicaKey;
use super::super::partitions::PartitionState;
use super::super::segments::{Range, Taker, Turn};
use super::{candidate, position};

#[test]
fn a_retry_becomes_visible_when_its_time_has_come_and_not_before() {
    let mut partition = PartitionState::new(false, 0);
    let at = partition.delay(1_000, 0);
    assert!((1_000..=1_064).contains(&at));
    assert_eq!(partition.delay(5_000, 0), at, "the earliest time is the one to wake up for");
    assert!(!partition.is_visible() && partition.waiting() == 2);
    assert_eq!(partition.mature(at - 1), Some(at));
    assert!(partition.mature(at).is_some_and(|next| next >= 5_000));
    assert!(partition.is_visible() && partition.waiting() == 2);
}

#[test]
fn a_request_given_back_at_once_is_not_looked_for_before_the_write() {
    assert!(PartitionState::new(false, 0).delay(0, 0) >= 50);
}

fn taker() -> Taker<'static> {
    let (replica, idle) = (ReplicaKey(1), &|_| Some(0));
    Taker { replica, wanted: 1, idle, idle_for_due_first: idle, takes_due_first_only: false }
}

/// Replica 1 asks, and its scan finds no requests.
fn scan_nothing(partition: &mut PartitionState, now: i64) {
    let scan = scan(partition, now).scan;
    let is_empty = partition.lists.all.absorb(scan, std::iter::empty(), None, true, now);
    partition.correct(is_empty, now);
}

fn scan(partition: &mut PartitionState, now: i64) -> Range {
    match partition.turn(taker(), &mut None, now) {
        Turn::Wait(Some(range)) => range,
        turn => panic!("no scan: {turn:?}"),
    }
}

#[test]
fn an_empty_revolution_corrects_the_count_and_the_partition_is_looked_at_again_until_forgotten() {
    let mut partition = PartitionState::new(false, 0);
    partition.add(7, 0);
    scan_nothing(&mut partition, 0);
    assert!(!partition.is_visible() && partition.waiting() == 0);
    let mut scans = Vec::new();
    for second in 0..10_000 {
        if partition.repair(second * 1_000) {
            break;
        }
        if partition.is_visible() {
            scans.push(second);
            scan_nothing(&mut partition, second * 1_000);
        }
    }
    assert_eq!(scans, [10, 30, 70, 150, 310, 630]);
}

#[test]
fn a_partition_with_held_requests_is_looked_at_every_ten_seconds() {
    let mut partition = PartitionState::new(false, 0);
    partition.held = 1;
    for round in 1..50 {
        let now = round * 10_000;
        assert!(!partition.repair(now) && partition.is_visible());
        scan_nothing(&mut partition, now);
    }
}

#[test]
fn a_look_in_the_middle_of_the_order_does_not_end_the_suspicion_of_a_wrong_count() {
    let mut partition = PartitionState::new(false, 0);
    partition.add(1, 0);
    let first = scan(&mut partition, 0).scan;
    partition.lists.all.absorb(first, [candidate(5)].into_iter(), Some(position(5)), false, 0);
    partition.correct(false, 0);
    assert_eq!(partition.take(taker(), 1, 0).len(), 1);
    partition.repair(10_000);
    assert!(partition.is_visible());
    let second = scan(&mut partition, 10_000);
    assert_eq!(second.after, Some(position(5)));
    let is_empty = partition.lists.all.absorb(second.scan, std::iter::empty(), None, true, 10_000);
    partition.correct(is_empty, 10_000);
    assert!(partition.is_visible(), "what lies before the cursor was not scanned yet");
}

#[test]
fn a_request_that_comes_during_an_empty_revolution_is_looked_for_at_once() {
    for is_shared in [false, true] {
        let mut partition = PartitionState::new(is_shared, 0);
        partition.add(1, 0);
        let first = scan(&mut partition, 0).scan;
        partition.add(1, 0);
        let is_empty = partition.lists.all.absorb(first, std::iter::empty(), None, true, 0);
        partition.correct(is_empty, 0);
        assert!(partition.is_visible(), "shared: {is_shared}");
        scan_nothing(&mut partition, 0);
        assert!(!partition.is_visible(), "shared: {is_shared}: nothing has come since");
    }
}

#[test]
fn a_request_may_come_at_a_place_that_the_revolution_has_passed() {
    let mut partition = PartitionState::new(false, 0);
    partition.add(1, 0);
    let first = scan(&mut partition, 0).scan;
    partition.lists.all.absorb(first, std::iter::empty(), Some(position(5)), false, 0);
    partition.add(1, 0);
    let rest = scan(&mut partition, 0);
    assert_eq!(rest.after, Some(position(5)));
    let is_empty = partition.lists.all.absorb(rest.scan, std::iter::empty(), None, true, 0);
    partition.correct(is_empty, 0);
    assert!(partition.is_visible(), "it is looked for");
    assert_eq!(scan(&mut partition, 0).after, None, "a new revolution");
}
