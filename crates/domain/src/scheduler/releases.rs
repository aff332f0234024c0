//! When gathered requests are moved into the queue.

/// Minimum interval of releases while the queue keeps up, so that a stream of requests shares writes.
const SPACING_MS: i64 = 10;
/// Minimum wait after a release that could not move everything that is ready.
const HELD_MS: i64 = 250;
/// A release without an answer is repeated after this time.
const PATIENCE_MS: i64 = 30_000;
/// Requests that are ready within this time of each other were sent together.
const BURST_GAP_MS: i64 = 100;
/// Maximum time that otherwise idle replicas wait for the rest of what was sent together.
const BURST_MS: i64 = 1_000;
/// Interval of questions to the store if no request is known to gather.
const IDLE_MS: i64 = 30_000;

/// One release at a time, due when the earliest known request has gathered long enough. The first is due at the start, and finds what
/// gathered before.
#[derive(Debug)]
pub(super) struct Releases {
    due_at: i64,
    asked_at: Option<i64>,
    answered_at: Option<i64>,
    not_before: i64,
    burst_since: Option<i64>,
}

impl Releases {
    pub(super) const fn new() -> Self {
        Self { due_at: i64::MIN, asked_at: None, answered_at: None, not_before: i64::MIN, burst_since: None }
    }

    pub(super) fn gather(&mut self, ready_at: i64) {
        self.due_at = self.due_at.min(ready_at);
    }

    /// Whether to ask for a release now; the answer is then awaited.
    pub(super) fn ask(&mut self, now: i64) -> bool {
        if self.next_at().is_none_or(|at| at > now) {
            return false;
        }
        self.asked_at = Some(now);
        self.due_at = now + IDLE_MS;
        self.not_before = now + SPACING_MS;
        true
    }

    /// Another node brought requests into a queue that was empty: the store is asked immediately whether more of what was sent together
    /// will follow.
    pub(super) fn hear(&mut self, now: i64) {
        // The store has just said so. The clock may have been set back.
        if self.answered_at.is_some_and(|at| (0..BURST_GAP_MS).contains(&(now - at))) {
            return;
        }
        self.due_at = self.due_at.min(now);
        self.burst_since.get_or_insert(now);
    }

    /// The release committed; the next is due at `next_ready_at`.
    ///
    /// Another node holds ready requests that were not moved for a moment, so they are not asked for every time.
    pub(super) fn answer(&mut self, has_moved: bool, has_work: bool, next_ready_at: Option<i64>, now: i64) {
        self.asked_at = None;
        self.answered_at = Some(now);
        self.due_at = next_ready_at.map_or(self.due_at, |at| at.min(self.due_at));
        if self.due_at > now + BURST_GAP_MS {
            self.burst_since = None;
        } else if has_moved && !has_work {
            self.burst_since.get_or_insert(now);
        }
        if !has_moved && next_ready_at.is_some_and(|at| at <= now) {
            self.not_before = self.not_before.max(now + HELD_MS);
        }
    }

    /// Until when more of what was sent together will enter the queue, which was empty before: until then only a part of it has its order.
    pub(super) fn burst_ends_at(&self, now: i64) -> Option<i64> {
        self.burst_since.map(|since| since + BURST_MS).filter(|at| (now + 1..=now + BURST_MS).contains(at))
    }

    /// The release was not made; it is due again.
    pub(super) fn undo(&mut self, now: i64) {
        self.asked_at = None;
        self.due_at = now;
    }

    /// Gives up an answer that is long overdue.
    pub(super) fn repair(&mut self, now: i64) {
        if self.asked_at.is_some_and(|asked_at| now - asked_at >= PATIENCE_MS) {
            self.undo(now);
        }
    }

    /// When the next release may be asked for; `None` while an answer is awaited.
    pub(super) fn next_at(&self) -> Option<i64> {
        self.asked_at.is_none().then(|| self.due_at.max(self.not_before))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_gathered_before_the_start_is_released_at_once() {
        assert!(Releases::new().ask(1_000));
    }

    #[test]
    fn a_request_accepted_during_a_release_is_not_forgotten() {
        let mut releases = Releases::new();
        assert!(releases.ask(0));
        releases.gather(500);
        assert!(!releases.ask(600));
        releases.answer(true, false, Some(900), 0);
        assert_eq!(releases.next_at(), Some(500));
        assert!(releases.ask(600));
    }

    #[test]
    fn releases_that_follow_each_other_closely_are_one_burst_for_a_second_at_most() {
        let mut releases = Releases::new();
        releases.ask(0);
        releases.answer(true, false, Some(300), 0);
        assert_eq!(releases.burst_ends_at(0), None, "the next is not close");
        for ms in (300..1_400).step_by(100) {
            assert!(releases.ask(ms));
            releases.answer(true, false, Some(ms + 100), ms);
            assert_eq!(releases.burst_ends_at(ms), (ms < 1_300).then_some(1_300));
        }
        releases.ask(1_400);
        releases.answer(false, false, Some(1_450), 1_400);
        releases.ask(1_450);
        releases.answer(true, false, None, 1_450);
        releases.ask(9_000);
        releases.answer(true, false, Some(9_050), 9_000);
        assert!(releases.burst_ends_at(9_000).is_some(), "another burst");
        releases.gather(9_020);
        releases.ask(9_050);
        releases.answer(false, false, None, 9_050);
        assert_eq!(releases.burst_ends_at(9_050), None, "it is over");
        releases.ask(10_000);
        releases.answer(true, true, Some(10_050), 10_000);
        assert_eq!(releases.burst_ends_at(10_000), None, "nobody waits where there is other work");
    }

    #[test]
    fn what_another_node_brought_into_an_empty_queue_waits_until_the_store_has_said_whether_more_follows() {
        for (next_ready_at, expected) in [(None, None), (Some(9_000), None), (Some(1_050), Some(2_000))] {
            let mut releases = Releases::new();
            releases.ask(0);
            releases.answer(false, false, None, 0);
            assert!(!releases.ask(1_000));
            releases.hear(1_000);
            assert_eq!(releases.burst_ends_at(1_000), Some(2_000));
            assert!(releases.ask(1_000));
            releases.answer(false, true, next_ready_at, 1_000);
            assert_eq!(releases.burst_ends_at(1_000), expected, "{next_ready_at:?}");
            releases.hear(1_099);
            assert!(!releases.ask(1_049) && releases.burst_ends_at(1_099) == expected, "it was just asked");
        }
    }

    #[test]
    fn a_release_that_was_undone_or_never_answered_is_asked_again() {
        let mut releases = Releases::new();
        assert!(releases.ask(0));
        releases.undo(5);
        assert!(releases.ask(10));
        releases.repair(29_000);
        assert!(!releases.ask(29_000));
        releases.repair(31_000);
        assert!(releases.ask(31_000));
    }
}
