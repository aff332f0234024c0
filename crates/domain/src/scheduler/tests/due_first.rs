//! The list of requests that go first, beside the main list.

use super::super::due_first::Seen;
use super::super::messages::{Candidate, ReplicaKey};
use super::super::partitions::PartitionState;
use super::super::segments::{Range, Taker, Turn};
use super::super::*;
use super::{candidate, position};

const FIRST: ReplicaKey = ReplicaKey(1);
const GUARD_MS: i64 = 600_000;
/// A deadline in danger, and one that is not.
const SOON: i64 = 300_000;
const LATE: i64 = 86_400_000;

fn idle(_: ReplicaKey) -> Option<usize> {
    Some(0)
}

fn due(seq: i64, deadline: i64) -> Candidate {
    Candidate { deadline, ..candidate(seq) }
}

fn soon(seq: i64) -> Candidate {
    due(seq, SOON)
}

fn late(seq: i64) -> Candidate {
    due(seq, LATE)
}

/// A partition with so many requests that are due soon, and late.
fn partition(is_shared: bool, due_soon: i64, due_late: i64) -> PartitionState {
    let mut partition = PartitionState::new(is_shared, 0);
    partition.add(due_soon + due_late, 0);
    count(&mut partition, due_soon, due_late);
    partition
}

fn count(partition: &mut PartitionState, due_soon: i64, due_late: i64) {
    let step = |from, count| DeadlineStep { from, count, cost: count };
    let steps = [step(SOON, due_soon), step(LATE, due_late)];
    let steps: Vec<_> = steps.into_iter().filter(|step| step.count > 0).collect();
    partition.note_deadlines(&steps, 0, GUARD_MS, true, 0);
}

fn has_due_first(partition: &PartitionState) -> bool {
    partition.lists.due_first().is_some()
}

fn taker() -> Taker<'static> {
    let (replica, wanted) = (FIRST, 8);
    Taker { replica, wanted, idle: &idle, idle_for_due_first: &idle, takes_due_first_only: false }
}

fn turn(partition: &mut PartitionState) -> (Turn, Option<Range>) {
    let mut beside = None;
    (partition.turn(taker(), &mut beside, 0), beside)
}

/// The scan that the taker waits for.
fn scan(partition: &mut PartitionState) -> Range {
    match turn(partition) {
        (Turn::Wait(Some(range)), None) => range,
        turn => panic!("no scan: {turn:?}"),
    }
}

/// The scan for those that go first, whether or not the taker waits for it.
fn scan_due_first(partition: &mut PartitionState) -> Range {
    match turn(partition) {
        (_, Some(range)) | (Turn::Wait(Some(range)), None) => range,
        turn => panic!("no scan: {turn:?}"),
    }
}

fn answer(partition: &mut PartitionState, range: &Range, candidates: &[Candidate], reached_end: bool) {
    let last = candidates.last().map(|it| it.position.clone());
    let seen = Seen { count: i64::try_from(candidates.len()).unwrap(), last, reached_end };
    let (_, due_by) = partition.lists.of_scan(range.scan);
    let fresh = candidates.iter().filter(|it| it.deadline <= due_by).cloned().collect();
    partition.absorb(range.scan, fresh, &seen, 0);
}

fn take(partition: &mut PartitionState) -> Vec<i64> {
    partition.take(taker(), 9, 0).iter().map(|it| it.position.seq).collect()
}

#[test]
fn those_in_danger_go_first_in_their_order_and_then_the_sweep_goes_on_where_it_was() {
    let mut partition = partition(false, 0, 6);
    let all = scan(&mut partition);
    answer(&mut partition, &all, &[late(1), late(3)], false);
    assert_eq!(partition.take(taker(), 1, 0).len(), 1);
    count(&mut partition, 2, 3);
    let first = scan(&mut partition);
    assert_eq!((first.after.clone(), first.far.is_some()), (None, false), "they have an order of their own");
    assert_eq!(turn(&mut partition), (Turn::Wait(None), None), "its answer is worth a wait");
    answer(&mut partition, &first, &[soon(2), late(4), soon(5), late(6)], true);
    assert_eq!(partition.lists.due_first(), Some(2));
    assert_eq!(take(&mut partition), [2, 5]);
    assert!(!has_due_first(&partition), "none is left");
    assert_eq!(turn(&mut partition).0, Turn::Ready, "what the window had");
    assert_eq!(take(&mut partition), [3]);
    assert_eq!(scan(&mut partition).after, Some(position(3)), "where it was");
}

#[test]
fn a_revolution_without_any_ends_the_list_and_says_nothing_of_the_others() {
    let mut partition = partition(false, 1, 3);
    let first = scan(&mut partition);
    answer(&mut partition, &first, &[late(1), late(2), late(3)], true);
    assert!(!has_due_first(&partition), "the one that was counted has gone");
    assert!(partition.is_visible() && partition.visible_count() == 4, "a scan may find the others");
}

#[test]
fn others_do_not_wait_for_scans_that_find_none() {
    let mut partition = partition(false, 1, 9);
    let first = scan(&mut partition);
    answer(&mut partition, &first, &[late(1), late(2)], false);
    assert!(has_due_first(&partition));
    let (all, second) = turn(&mut partition);
    let second = second.unwrap();
    assert_eq!(second.after, Some(position(2)));
    assert!(matches!(all, Turn::Wait(Some(_))), "the sweep of all goes on beside it");
    answer(&mut partition, &second, &[soon(3)], false);
    assert_eq!(take(&mut partition), [3]);
}

#[test]
fn scans_read_far_where_fewer_than_a_quarter_go_first() {
    for (due_late, is_far) in [(3, false), (4, true)] {
        let mut partition = partition(false, 1, due_late);
        assert_eq!(scan(&mut partition).far.is_some(), is_far);
    }
}

#[test]
fn a_list_that_is_no_longer_in_danger_is_dropped_and_answers_to_its_scans_are_ignored() {
    let mut partition = partition(false, 2, 2);
    let first = scan(&mut partition);
    count(&mut partition, 0, 4);
    assert!(!has_due_first(&partition));
    answer(&mut partition, &first, &[soon(1)], true);
    assert!(take(&mut partition).is_empty());
    count(&mut partition, 2, 2);
    let second = scan(&mut partition);
    assert_ne!(first.scan, second.scan);
    answer(&mut partition, &first, &[soon(1)], true);
    assert!(take(&mut partition).is_empty(), "a later list has scans of its own");
}

#[test]
fn where_nodes_share_the_queue_the_list_ends_when_scans_have_passed_as_many_as_wait() {
    let mut partition = partition(true, 1, 4);
    for seqs in [[1, 2], [3, 4]] {
        let first = scan_due_first(&mut partition);
        answer(&mut partition, &first, &seqs.map(late), false);
        assert!(has_due_first(&partition), "the store has more");
    }
    let first = scan_due_first(&mut partition);
    answer(&mut partition, &first, &[late(5), late(1)], false);
    assert!(!has_due_first(&partition));
}

#[test]
fn what_could_not_be_leased_goes_first_again() {
    let mut partition = partition(false, 3, 1);
    let first = scan(&mut partition);
    answer(&mut partition, &first, &[soon(1), soon(2), soon(3), late(4)], true);
    let run = partition.take(taker(), 2, 0);
    partition.lists.put_back(FIRST, run);
    assert_eq!(take(&mut partition), [1, 2, 3]);
}

#[test]
fn suspects_leave_both_windows_and_are_named_once() {
    let mut partition = partition(false, 2, 2);
    let suspect = Candidate { suspect: true, ..soon(1) };
    let Turn::Wait(Some(all)) = partition.lists.all.turn(FIRST, 8, 4, &idle, 0) else { panic!("no scan") };
    answer(&mut partition, &all, &[suspect.clone(), late(2)], false);
    let first = scan(&mut partition);
    answer(&mut partition, &first, &[suspect.clone(), late(2), soon(3)], false);
    assert_eq!(partition.take_suspects(0), [suspect]);
    assert_eq!(take(&mut partition), [3]);
}

#[test]
fn a_window_is_that_of_all_while_nothing_that_goes_first_is_seen() {
    let mut partition = partition(false, 2, 6);
    let Turn::Wait(Some(range)) = partition.lists.all.turn(FIRST, 8, 8, &idle, 0) else { panic!("no scan") };
    partition.lists.all.absorb(range.scan, (3..=5).map(late), Some(position(5)), false, 0);
    assert!(has_due_first(&partition));
    assert_eq!(partition.lists.window_of(FIRST).0, 3);
}

#[test]
fn more_that_go_first_are_looked_for_ahead_while_the_window_is_short_of_them() {
    let only = Taker { takes_due_first_only: true, ..taker() };
    for (due_soon, wanted, is_asked) in
        [(8, 8, true), (8, 4, true), (8, 3, false), (8, 2, false), (3, 8, false)]
    {
        let mut partition = partition(false, due_soon, 4);
        let first = scan_due_first(&mut partition);
        answer(&mut partition, &first, &[soon(1), soon(2), soon(3)], false);
        let scan = partition.scan_ahead(only, wanted, 0);
        assert_eq!(scan.is_some(), is_asked, "{wanted} of {due_soon}");
    }
}
