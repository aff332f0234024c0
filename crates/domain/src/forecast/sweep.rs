//! How much of a partition's own work precedes a request. Each replica sweeps a segment from its cursor on. A replica that has no requests
//! left takes the second half of the longest rest, or the rest behind a portion of it if it is long (see `scheduler::segments`).

use crate::scheduler::{Position, SweptSegment};

/// Rests are no longer cut if the longest is less than this part of all that waits.
const LEAST_PART: f64 = 1e-4;

/// A piece of a partition's waiting requests: everything behind the previous mark, up to this place.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// Its last place.
    pub last: Position,
    /// Its work.
    pub cost: f64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Swept<'a> {
    pub(super) marks: &'a [Mark],
    pub(super) segments: &'a [SweptSegment],
    /// Work behind a cursor that is next all the same.
    pub(super) window: f64,
    /// The owner of a rest of more work than this keeps a portion.
    pub(super) survey: f64,
    pub(super) portion: f64,
}

impl Swept<'_> {
    /// The work that all of `replicas` do together in the partition until the sweep has passed this place; all that waits if `None`.
    pub(super) fn work_before(&self, position: Option<&Position>, replicas: usize) -> f64 {
        let Self { marks, segments, window, .. } = *self;
        let all: f64 = marks.iter().map(|mark| mark.cost).sum();
        let Some(position) = position else { return all };
        let place = up_to(marks, position);
        let starts: Vec<f64> =
            segments.iter().map(|it| it.from.as_ref().map_or(0.0, |from| up_to(marks, from))).collect();
        let mut rests = Vec::with_capacity(segments.len().max(1));
        let mut target = (0, place);
        for (index, segment) in segments.iter().enumerate() {
            let start = starts[index];
            let end = starts.get(index + 1).copied().unwrap_or(all).max(start);
            let cursor =
                segment.cursor.as_ref().map_or(start, |cursor| up_to(marks, cursor)).clamp(start, end);
            if segment.from.as_ref().is_none_or(|from| from < position) {
                // The sweep returns to what is behind its cursor.
                let is_ahead = segment.cursor.as_ref().is_none_or(|cursor| cursor < position);
                let is_next = is_ahead || cursor - place < window;
                let before = if is_next { place - cursor } else { end - cursor + place - start };
                target = (index, before.max(0.0));
            }
            rests.push(end - start);
        }
        if rests.is_empty() {
            rests.push(all);
        }
        let replicas = replicas.max(1);
        self.reached_after(join(rests, &mut target, replicas), target, all) * replicas as f64
    }

    /// The work that each replica does until one has done what precedes the target in its rest, while replicas that have none left take the
    /// second half of the longest rest, or the part behind its first portion.
    fn reached_after(&self, mut rests: Vec<f64>, mut target: (usize, f64), all: f64) -> f64 {
        let portion = self.portion.max(all * LEAST_PART);
        let mut done = 0.0;
        loop {
            let shortest = rests.iter().copied().fold(f64::INFINITY, f64::min);
            let longest = rests.iter().copied().fold(0.0, f64::max);
            if target.1 <= shortest || longest <= all * LEAST_PART {
                return done + target.1;
            }
            if shortest > 0.0 {
                rests.iter_mut().for_each(|rest| *rest -= shortest);
                target.1 -= shortest;
                done += shortest;
                continue;
            }
            let place = |wanted: f64| rests.iter().position(|rest| *rest == wanted).unwrap_or(0);
            let (taker, giver) = (place(shortest), place(longest));
            let kept = if longest > self.survey { portion.min(longest) } else { longest / 2.0 };
            (rests[giver], rests[taker]) = (kept, longest - kept);
            if target.0 == giver && target.1 > kept {
                target = (taker, target.1 - kept);
            }
        }
    }
}

/// What waits up to a place. Of the mark that contains the place, half counts.
fn up_to(marks: &[Mark], position: &Position) -> f64 {
    let index = marks.partition_point(|mark| mark.last <= *position);
    let before: f64 = marks[..index].iter().map(|mark| mark.cost).sum();
    let is_at_mark = index.checked_sub(1).is_some_and(|index| marks[index].last == *position);
    let within = marks.get(index).filter(|_| !is_at_mark);
    before + within.map_or(0.0, |mark| mark.cost / 2.0)
}

/// One rest for each replica: a rest without a replica is part of the previous one.
fn join(mut rests: Vec<f64>, target: &mut (usize, f64), replicas: usize) -> Vec<f64> {
    while rests.len() > replicas
        && let Some(before_last) = rests.len().checked_sub(2)
        && let Some(last) = rests.pop()
        && let Some(before) = rests.last_mut()
    {
        if target.0 > before_last {
            *target = (before_last, target.1 + *before);
        }
        *before += last;
    }
    rests.resize(replicas, 0.0);
    rests
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sort_key::SortKey;

    fn at(seq: i64) -> Position {
        Position { sort_key: SortKey::default(), seq }
    }

    /// A hundred requests of work 1 at 0 to 99, ten to a mark.
    fn marks() -> Vec<Mark> {
        (0..10).map(|ten| Mark { last: at(ten * 10 + 9), cost: 10.0 }).collect()
    }

    fn segment(from: Option<i64>, cursor: Option<i64>) -> SweptSegment {
        SweptSegment { from: from.map(at), cursor: cursor.map(at) }
    }

    #[track_caller]
    fn check(segments: &[SweptSegment], replicas: usize, expected: &[(i64, f64)]) {
        for (place, expected) in expected {
            let swept = Swept { marks: &marks(), segments, window: 0.0, survey: 100.0, portion: 100.0 };
            let found = swept.work_before(Some(&at(*place)), replicas);
            assert!((found - expected).abs() <= 1.0, "{place} of {replicas}: {found}, not {expected}");
        }
        let swept = Swept { marks: &marks(), segments, window: 0.0, survey: 100.0, portion: 100.0 };
        assert_eq!(swept.work_before(None, replicas), 100.0);
    }

    #[test]
    fn one_replica_goes_round_from_its_cursor() {
        check(&[], 1, &[(4, 5.0), (95, 95.0)]);
        check(&[segment(None, None)], 1, &[(4, 5.0), (95, 95.0)]);
        check(&[segment(None, Some(29))], 1, &[(34, 5.0), (95, 65.0), (4, 75.0), (24, 95.0)]);
    }

    #[test]
    fn each_replica_goes_round_in_its_segment() {
        let halves = [segment(None, None), segment(Some(49), Some(69))];
        check(&halves, 2, &[(4, 10.0), (44, 90.0), (74, 10.0), (95, 50.0), (54, 70.0)]);
    }

    #[test]
    fn who_has_nothing_left_takes_the_second_half_of_the_longest_rest() {
        // The second begins with what the first would reach last.
        check(&[segment(None, None)], 2, &[(4, 10.0), (54, 10.0), (95, 90.0)]);
        // It has done its ten when the first has done ten of ninety, and continues at fifty.
        let uneven = [segment(None, None), segment(Some(89), None)];
        check(&uneven, 2, &[(4, 10.0), (94, 10.0), (44, 90.0), (54, 30.0)]);
    }

    #[test]
    fn of_a_long_rest_its_owner_keeps_a_portion() {
        let swept = Swept { marks: &marks(), segments: &[], window: 0.0, survey: 20.0, portion: 10.0 };
        // Two replicas work side by side, ten each at a time.
        for (place, expected) in [(4, 10.0), (14, 10.0), (24, 30.0), (34, 30.0), (79, 80.0)] {
            let found = swept.work_before(Some(&at(place)), 2);
            assert!((found - expected).abs() <= 1.0, "{place}: {found}, not {expected}");
        }
    }

    #[test]
    fn what_has_no_replica_of_its_own_belongs_to_the_one_before() {
        let halves = [segment(None, None), segment(Some(49), None)];
        check(&halves, 1, &[(4, 5.0), (54, 55.0)]);
    }

    #[test]
    fn what_was_seen_and_not_leased_yet_comes_next() {
        let segments = [segment(None, Some(49))];
        let before = |window, place| {
            Swept { marks: &marks(), segments: &segments, window, survey: 100.0, portion: 100.0 }
                .work_before(Some(&at(place)), 1)
        };
        assert_eq!((before(0.0, 39), before(20.0, 39), before(20.0, 19)), (90.0, 0.0, 70.0));
    }

    #[test]
    fn nothing_takes_nothing() {
        let nothing = Swept { marks: &[], segments: &[], window: 0.0, survey: 0.0, portion: 0.0 };
        assert_eq!(nothing.work_before(Some(&at(1)), 3), 0.0);
        assert_eq!(nothing.work_before(None, 3), 0.0);
    }
}
