//! When the scheduler must be woken, and for what.

use std::collections::{BTreeMap, BTreeSet};

use super::messages::{QueuePartition, ReplicaKey};

/// What a wake-up is for; each has one time at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    Release,
    /// The store may be asked again.
    Store,
    /// Released requests of a partition may be tried again.
    Partition(QueuePartition),
    /// The deadlines of the next partition may be counted.
    Count,
    /// A burst is no longer waited for.
    Burst,
    /// A replica's rest is over.
    Replica(ReplicaKey),
}

/// The shell gets the earliest one, once.
#[derive(Debug, Default)]
pub(super) struct Timers {
    times: BTreeMap<Timer, i64>,
    order: BTreeSet<(i64, Timer)>,
    announced_at: Option<i64>,
}

impl Timers {
    pub(super) const fn new() -> Self {
        Self { times: BTreeMap::new(), order: BTreeSet::new(), announced_at: None }
    }

    /// Sets, moves or (with `None`) removes a wake-up.
    pub(super) fn set(&mut self, timer: Timer, at: Option<i64>) {
        let before = match at {
            Some(at) => self.times.insert(timer, at),
            None => self.times.remove(&timer),
        };
        if before == at {
            return;
        }
        if let Some(before) = before {
            self.order.remove(&(before, timer));
        }
        if let Some(at) = at {
            self.order.insert((at, timer));
        }
    }

    pub(super) fn pop_due(&mut self, now: i64) -> Option<Timer> {
        let &(at, timer) = self.order.first()?;
        (at <= now).then(|| {
            self.set(timer, None);
            timer
        })
    }

    /// Announces the earliest wake-up again, because the clock by which it was announced was set back.
    pub(super) const fn announce_again(&mut self) {
        self.announced_at = None;
    }

    /// The earliest wake-up, if it was not announced last.
    pub(super) fn announce(&mut self) -> Option<i64> {
        let &(at, _) = self.order.first()?;
        (self.announced_at != Some(at)).then(|| {
            self.announced_at = Some(at);
            at
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_time_is_announced_once_and_taken_when_due() {
        let mut timers = Timers::new();
        timers.set(Timer::Release, Some(50));
        timers.set(Timer::Replica(ReplicaKey(1)), Some(30));
        assert_eq!(timers.announce(), Some(30));
        assert_eq!(timers.announce(), None);
        assert_eq!(timers.pop_due(29), None);
        assert_eq!(timers.pop_due(30), Some(Timer::Replica(ReplicaKey(1))));
        assert_eq!(timers.announce(), Some(50));
        timers.set(Timer::Release, Some(20));
        assert_eq!(timers.announce(), Some(20));
        timers.set(Timer::Release, None);
        assert_eq!((timers.announce(), timers.pop_due(99)), (None, None));
    }
}
