//! The sweep of one partition.

use super::super::messages::{Position, ScanKey};
use super::super::sweep::Sweep;
use super::{candidate, position};

fn ask(sweep: &mut Sweep, now: i64) -> Option<Option<Position>> {
    sweep.ask(ScanKey(1), None, now)
}

fn answer(sweep: &mut Sweep, seqs: &[i64], reached_end: bool) -> bool {
    let last = seqs.last().map(|seq| position(*seq));
    sweep.absorb(seqs.iter().map(|seq| candidate(*seq)), last, reached_end, 0)
}

fn take(sweep: &mut Sweep, limit: usize) -> Vec<i64> {
    sweep.take(limit, 0).into_iter().map(|it| it.position.seq).collect()
}

#[test]
fn looks_follow_the_order_and_wrap_at_the_end() {
    let mut sweep = Sweep::default();
    assert_eq!(ask(&mut sweep, 0), Some(None));
    assert_eq!(ask(&mut sweep, 0), None, "one scan at a time");
    assert!(!answer(&mut sweep, &[1, 2, 3], false));
    assert_eq!(take(&mut sweep, 2), [1, 2]);
    assert_eq!(ask(&mut sweep, 0), Some(Some(position(3))), "the next scan begins behind the window");
    assert!(!answer(&mut sweep, &[4], true));
    assert_eq!(ask(&mut sweep, 0), None, "nothing lies behind the window");
    assert_eq!(take(&mut sweep, 9), [3, 4]);
    assert_eq!(ask(&mut sweep, 0), Some(None), "a new revolution");
}

#[test]
fn a_partition_is_empty_only_after_a_whole_revolution_that_saw_nothing() {
    let mut sweep = Sweep::default();
    ask(&mut sweep, 0);
    assert!(!answer(&mut sweep, &[5], false));
    take(&mut sweep, 1);
    assert_eq!(ask(&mut sweep, 0), Some(Some(position(5))));
    assert!(!answer(&mut sweep, &[], true), "what came before the cursor was not seen");
    assert_eq!(ask(&mut sweep, 0), Some(None));
    assert!(answer(&mut sweep, &[], true));
}

#[test]
fn requests_known_to_be_held_are_skipped_and_do_not_make_a_revolution_fruitful() {
    let mut sweep = Sweep::default();
    ask(&mut sweep, 0);
    assert!(!sweep.absorb(std::iter::empty(), Some(position(7)), false, 0));
    assert_eq!(ask(&mut sweep, 0), Some(Some(position(7))));
    assert!(sweep.absorb(std::iter::empty(), Some(position(9)), true, 0));
}

#[test]
fn what_is_trimmed_is_looked_at_again_and_what_is_put_back_comes_first() {
    let mut sweep = Sweep::default();
    ask(&mut sweep, 0);
    answer(&mut sweep, &[1, 2, 3, 4], true);
    let run = sweep.take(2, 0);
    sweep.put_back(run);
    assert_eq!(take(&mut sweep, 1), [1]);
    sweep.trim(1);
    assert_eq!(ask(&mut sweep, 0), Some(Some(position(2))));
    answer(&mut sweep, &[3, 4], true);
    assert_eq!(take(&mut sweep, 9), [2, 3, 4]);
}

#[test]
fn a_request_past_its_deadline_is_left_to_the_expirer() {
    let mut sweep = Sweep::default();
    ask(&mut sweep, 0);
    let mut late = candidate(1);
    late.deadline = 10;
    sweep.absorb([late, candidate(2)].into_iter(), Some(position(2)), true, 0);
    assert_eq!(sweep.take(9, 10).len(), 1);
}

#[test]
fn a_lost_answer_and_an_old_window_are_given_up() {
    let mut sweep = Sweep::default();
    ask(&mut sweep, 0);
    sweep.repair(15_000);
    assert_eq!(ask(&mut sweep, 15_000), Some(None));
    answer(&mut sweep, &[1, 2], true);
    take(&mut sweep, 1);
    sweep.repair(40_000);
    assert_eq!((sweep.window_len(), ask(&mut sweep, 40_000)), (0, Some(Some(position(1)))));
}

#[test]
fn a_shared_sweep_takes_whatever_run_comes_and_keeps_it() {
    let mut sweep = Sweep::new(true);
    assert_eq!(ask(&mut sweep, 0), Some(None), "where it goes on is the store's to say");
    assert!(!answer(&mut sweep, &[7, 8], false));
    assert!(sweep.may_go_on());
    assert_eq!(ask(&mut sweep, 0), Some(None));
    assert!(!answer(&mut sweep, &[1, 2], false), "the sweep came round");
    sweep.repair(1_000_000);
    assert_eq!(take(&mut sweep, 9), [7, 8, 1, 2]);
    ask(&mut sweep, 0);
    assert!(answer(&mut sweep, &[], true), "nothing waits anywhere");
}
