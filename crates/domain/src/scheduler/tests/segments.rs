//! The segments of one partition: their owners and their cuts.

use super::super::messages::{Position, ReplicaKey};
use super::super::segments::{Range, Segments, Turn};
use super::desk::Desk;
use super::{candidate, partition, position};
use crate::scheduler::Candidate;
use crate::sort_key::SortKey;

const FIRST: ReplicaKey = ReplicaKey(1);
const SECOND: ReplicaKey = ReplicaKey(2);

fn none_idle(_: ReplicaKey) -> Option<usize> {
    Some(0)
}

fn range(turn: Turn) -> Range {
    match turn {
        Turn::Wait(Some(range)) => range,
        turn => panic!("no scan: {turn:?}"),
    }
}

/// The first replica sweeps everything, and has taken `taken` of `all`; the rest is in its window.
fn swept_by_first(all: &[Candidate], taken: usize) -> Segments {
    let mut segments = Segments::new(false);
    let count = i64::try_from(all.len()).unwrap();
    let scan = range(segments.turn(FIRST, 8, count, &none_idle, 0)).scan;
    let last = all.last().map(|it| it.position.clone());
    assert!(!segments.absorb(scan, all.iter().cloned(), last, true, 0));
    assert_eq!(segments.take(FIRST, taken, 0).len(), taken);
    segments
}

fn take(segments: &mut Segments, replica: ReplicaKey) -> Vec<i64> {
    segments.take(replica, usize::MAX, 0).iter().map(|it| it.position.seq).collect()
}

fn keyed(seq: i64, cuts: [u8; 2]) -> Candidate {
    let sort_key = SortKey::from_bytes(&[cuts[0], 0, cuts[1], 0]);
    Candidate { position: Position { sort_key, seq }, ..candidate(seq) }
}

fn numbered(seqs: std::ops::RangeInclusive<i64>) -> Vec<Candidate> {
    seqs.map(candidate).collect()
}

#[test]
fn who_has_nothing_takes_half_of_what_the_other_cannot_take_at_once() {
    let all = numbered(1..=40);
    let mut segments = swept_by_first(&all, 8);
    let survey = range(segments.turn(SECOND, 8, 32, &none_idle, 0));
    assert!(survey.far.is_some() && survey.after.is_none() && survey.until.is_none());
    assert_eq!(segments.turn(ReplicaKey(3), 8, 32, &none_idle, 0), Turn::Wait(None), "one survey at a time");
    assert!(segments.is_survey(survey.scan));
    segments.split(&all[8..], true);
    assert_eq!(take(&mut segments, FIRST), (9..=24).collect::<Vec<_>>());
    let scan = range(segments.turn(SECOND, 8, 16, &none_idle, 0));
    assert_eq!((scan.after, scan.until), (Some(position(24)), None));
    segments.absorb(scan.scan, all[24..].iter().cloned(), Some(position(40)), true, 0);
    assert_eq!(take(&mut segments, SECOND), (25..=40).collect::<Vec<_>>());
}

#[test]
fn a_segment_is_cut_where_neighbours_share_least() {
    let groups = [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2), (2, 3), (2, 4)];
    let all: Vec<_> = (1..).zip(groups).map(|(seq, (group, own))| keyed(seq, [group, own])).collect();
    let mut segments = swept_by_first(&all, 0);
    range(segments.turn(SECOND, 2, 8, &none_idle, 0));
    segments.split(&all, true);
    assert_eq!(take(&mut segments, FIRST), [1, 2, 3], "a group stays whole");
}

#[test]
fn a_part_is_measured_by_its_cost() {
    let mut all = numbered(1..=12);
    all[0].cost = 1_100;
    let mut segments = swept_by_first(&all, 0);
    range(segments.turn(SECOND, 2, 12, &none_idle, 0));
    segments.split(&all, true);
    assert_eq!(take(&mut segments, FIRST), [1]);
}

#[test]
fn where_more_lies_behind_what_a_survey_saw_the_taker_gets_that_too() {
    let mut segments = Segments::new(false);
    let scan = range(segments.turn(FIRST, 8, 1_000, &none_idle, 0)).scan;
    segments.absorb(scan, numbered(1..=4).into_iter(), Some(position(4)), false, 0);
    range(segments.turn(SECOND, 8, 1_000, &none_idle, 0));
    segments.split(&numbered(1..=20), false);
    let (first, second) =
        (range(segments.turn(SECOND, 8, 1, &none_idle, 0)), segments.scan(FIRST, 0).unwrap());
    assert_eq!((&first.after, first.until), (&second.until, None));
    assert!(second.until.is_some_and(|until| until >= position(10)));
    // The third takes from the longest rest, which is the second's.
    let third = range(segments.turn(ReplicaKey(3), 8, 1, &none_idle, 0));
    assert_eq!((third.far.is_some(), third.after), (true, first.after));
}

#[test]
fn of_a_long_rest_a_portion_is_surveyed_and_of_a_short_one_all_of_it() {
    for (waiting, expected) in [(4_096, 4_096), (4_097, 1_024)] {
        let mut segments = Segments::new(false);
        range(segments.turn(FIRST, 8, waiting, &none_idle, 0));
        assert_eq!(range(segments.turn(SECOND, 8, waiting, &none_idle, 0)).far, Some(expected));
    }
}

#[test]
fn the_giver_goes_on_where_its_cursor_stands() {
    let mut segments = swept_by_first(&numbered(101..=110), 9);
    // Requests have arrived behind the cursor since.
    segments.add(100);
    range(segments.turn(SECOND, 2, 100, &none_idle, 0));
    segments.split(&[numbered(1..=9), vec![candidate(110)]].concat(), true);
    assert_eq!(take(&mut segments, FIRST), [110]);
    let scan = range(segments.turn(SECOND, 2, 9, &none_idle, 0));
    assert_eq!((scan.after, scan.until.is_some()), (None, true));
}

#[test]
fn what_the_owner_can_take_at_once_is_left_to_it_and_little_is_taken_over_whole() {
    let all = numbered(1..=10);
    let mut segments = swept_by_first(&all, 2);
    let first_idles = |_| Some(8);
    assert!(!segments.is_for(SECOND, &first_idles));
    assert_eq!(segments.turn(SECOND, 8, 8, &first_idles, 0), Turn::Nothing);
    assert!(segments.is_for(SECOND, &none_idle));
    assert_eq!(segments.turn(SECOND, 8, 8, &none_idle, 0), Turn::Ready, "with its window");
    assert_eq!(take(&mut segments, FIRST), [0; 0]);
    assert_eq!(take(&mut segments, SECOND), (3..=10).collect::<Vec<_>>());
}

#[test]
fn a_segment_whose_owner_cannot_be_used_is_for_whoever_asks() {
    let all = numbered(1..=10);
    let mut segments = swept_by_first(&all, 2);
    let first_is_away = |replica| (replica != FIRST).then_some(0);
    assert_eq!(segments.turn(SECOND, 2, 8, &first_is_away, 0), Turn::Ready);
    assert_eq!(take(&mut segments, SECOND), (3..=10).collect::<Vec<_>>());
}

#[test]
fn a_segment_whose_owner_cannot_be_used_becomes_its_neighbours_though_that_has_work() {
    let all = numbered(1..=10);
    let mut segments = swept_by_first(&all, 0);
    range(segments.turn(SECOND, 2, 10, &none_idle, 0));
    segments.split(&all, true);
    let second_is_away = |replica| (replica != SECOND).then_some(0);
    assert_eq!(segments.turn(FIRST, 2, 10, &second_is_away, 0), Turn::Ready);
    assert_eq!(take(&mut segments, FIRST), (1..=5).collect::<Vec<_>>());
    let scan = range(segments.turn(FIRST, 2, 5, &second_is_away, 0));
    assert_eq!((scan.after, scan.until), (Some(position(5)), None), "it goes on where the other began");
}

#[test]
fn a_survey_during_a_scan_of_the_giver_makes_that_scan_void() {
    let all = numbered(1..=40);
    let mut segments = Segments::new(false);
    let scan = range(segments.turn(FIRST, 8, 40, &none_idle, 0)).scan;
    range(segments.turn(SECOND, 8, 40, &none_idle, 0));
    segments.split(&all, true);
    assert!(segments.sweep_of(scan).is_none(), "its answer may hold what is the taker's");
    assert_eq!(range(segments.turn(FIRST, 8, 40, &none_idle, 0)).until, Some(position(20)));
}

#[test]
fn where_the_queue_is_shared_each_replica_has_a_window_and_what_finds_nothing_rests() {
    let mut segments = Segments::new(true);
    let first = range(segments.turn(FIRST, 4, 9, &none_idle, 0)).scan;
    let second = range(segments.turn(SECOND, 4, 9, &none_idle, 0)).scan;
    assert!(!segments.absorb(first, numbered(1..=2).into_iter(), Some(position(2)), true, 0));
    assert!(!segments.absorb(second, numbered(5..=6).into_iter(), Some(position(6)), true, 0));
    assert_eq!(take(&mut segments, SECOND), [5, 6]);
    let again = range(segments.turn(SECOND, 4, 9, &none_idle, 0)).scan;
    assert!(segments.absorb(again, std::iter::empty(), Some(position(2)), false, 0), "all is under way");
    assert_eq!(segments.window_of(FIRST).0, 2, "what the other has seen is there still");
    assert_eq!(segments.turn(SECOND, 4, 9, &none_idle, 999), Turn::Wait(None));
    segments.add(1);
    let woken = range(segments.turn(SECOND, 4, 9, &none_idle, 999)).scan;
    assert!(segments.absorb(woken, std::iter::empty(), None, true, 999));
    assert_eq!((segments.window_len(), segments.may_go_on()), (0, false), "nothing waits anywhere");
    let first_is_away = |replica| (replica != FIRST).then_some(0);
    range(segments.turn(SECOND, 4, 9, &first_is_away, 5_000));
    assert!(segments.scan(FIRST, 5_000).is_none(), "who cannot be used has no window");
}

#[test]
fn an_empty_segment_joins_its_neighbour_and_the_last_one_tells_that_nothing_waits() {
    for empty_one in [FIRST, SECOND] {
        let all = numbered(1..=10);
        let mut segments = swept_by_first(&all, 0);
        range(segments.turn(SECOND, 2, 10, &none_idle, 0));
        segments.split(&all, true);
        let scan = range(segments.turn(SECOND, 2, 10, &none_idle, 0)).scan;
        segments.absorb(scan, numbered(6..=10).into_iter(), Some(position(10)), true, 0);
        take(&mut segments, FIRST);
        take(&mut segments, SECOND);
        let other = if empty_one == FIRST { SECOND } else { FIRST };
        let scan = range(segments.turn(empty_one, 2, 1, &none_idle, 0)).scan;
        assert!(!segments.absorb(scan, std::iter::empty(), None, true, 0));
        assert!(segments.scan(empty_one, 0).is_none(), "it has no segment");
        let mut revolutions = 0;
        loop {
            let scan = range(segments.turn(other, 2, 1, &none_idle, 0));
            assert_eq!(scan.until, None);
            revolutions += 1;
            if segments.absorb(scan.scan, std::iter::empty(), None, true, 0) {
                assert_eq!(scan.after, None, "it was a whole revolution");
                break;
            }
            assert!(revolutions < 4);
        }
    }
}

#[test]
fn what_was_not_leased_waits_in_its_own_segment_or_is_found_again_in_another() {
    let all = numbered(1..=10);
    let mut segments = swept_by_first(&all, 0);
    let run = segments.take(FIRST, 8, 0);
    segments.add(8);
    range(segments.turn(SECOND, 2, 10, &none_idle, 0));
    segments.split(&all, true);
    segments.put_back(FIRST, run);
    assert_eq!(take(&mut segments, FIRST).len(), 10 - segments_of_second(&mut segments));
}

fn segments_of_second(segments: &mut Segments) -> usize {
    let scan = range(segments.turn(SECOND, 2, 1, &none_idle, 0));
    let inside = |it: &Candidate| {
        scan.after.as_ref().is_none_or(|after| it.position > *after)
            && scan.until.as_ref().is_none_or(|until| it.position <= *until)
    };
    numbered(1..=10).iter().filter(|it| inside(it)).count()
}

#[test]
fn a_survey_that_is_lost_or_not_made_is_given_up() {
    let all = numbered(1..=40);
    let mut segments = swept_by_first(&all, 0);
    let first = range(segments.turn(SECOND, 8, 40, &none_idle, 0));
    segments.undo(first.scan);
    let second = range(segments.turn(SECOND, 8, 40, &none_idle, 0));
    assert!(second.far.is_some() && second.scan != first.scan);
    segments.repair(15_000);
    assert!(range(segments.turn(SECOND, 8, 40, &none_idle, 15_000)).far.is_some());
}

#[test]
fn what_all_windows_show_and_await_is_told_and_a_reset_forgets_it() {
    let mut segments = Segments::new(true);
    let first = range(segments.turn(FIRST, 4, 9, &none_idle, 0)).scan;
    assert!(segments.is_asked());
    segments.absorb(first, numbered(1..=3).into_iter(), Some(position(3)), false, 0);
    assert_eq!((segments.is_asked(), segments.window_len(), segments.may_go_on()), (false, 3, true));
    segments.reset();
    assert_eq!((segments.window_len(), segments.may_go_on()), (0, false));
    let mut segments = swept_by_first(&numbered(1..=40), 0);
    assert!(!segments.is_asked());
    range(segments.turn(SECOND, 8, 40, &none_idle, 0));
    assert!(segments.is_asked(), "a survey is awaited");
}

#[test]
fn where_each_sweep_is_can_be_asked() {
    let mut desk = Desk::new(&[2]);
    let swept = |desk: &Desk, account| desk.scheduler.swept_segments(partition(account));
    assert_eq!(swept(&desk, 1), []);
    desk.enqueue(1, 1..=9);
    let [segment] = &swept(&desk, 1)[..] else { panic!("one replica sweeps all of it") };
    assert!(segment.from.is_none() && segment.cursor.is_some(), "{segment:?}");
    assert_eq!(swept(&desk, 2), []);
}
