//! The deadline guard: whether the requests of a partition will be done in time, and which of them go first if not.
//!
//! The sweep passes every request once a revolution, whatever the deadlines. That is in time while a revolution is short. Otherwise the
//! work due by a time must fit into the time until then, for each such time (S. K. Baruah, L. E. Rosier, R. R. Howell: "Algorithms and
//! complexity concerning the preemptive scheduling of periodic, real-time tasks on one processor", 1990). The scheduler counts the waiting
//! requests of a partition by deadline in steps of 5 minutes, one partition after the other and with pauses, so that counts use a small
//! part of a reader's time.
//!
//! If the work does not fit with half as much again and 10 minutes to spare, the requests due by then *go first*, with as many later ones
//! as can be done before that time, so that they lose little of their order. They are swept in key order and shared among replicas like all
//! others, so they lose little of their prefix cache. This changes the order within an account's share of the engines, not the shares.
//! Engines outside their hours take only these requests (`due_first`).

/// Length of a step of deadlines, in milliseconds.
pub(super) const STEP_MS: i64 = 300_000;
/// A time is in danger if the work due by it takes more than this part of the time left, and the guard.
const DANGER: Ratio = Ratio(3, 2);
/// Requests due later go along while everything together takes less than this part of the time left.
const COMPANY: Ratio = Ratio(6, 5);
/// Assumed duration of work whose pace is not known.
const UNKNOWN_MS: i64 = 3_600_000;

#[derive(Clone, Copy)]
struct Ratio(i64, i64);

impl Ratio {
    const fn of(self, ms: i64) -> i64 {
        (ms / self.1).saturating_mul(self.0)
    }
}

/// The waiting requests of a partition whose deadlines are in one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeadlineStep {
    /// When the step begins, in milliseconds: a multiple of its length.
    pub from: i64,
    /// Requests.
    pub count: i64,
    /// Their estimated work, see [`super::Candidate::cost`].
    pub cost: i64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    pub(super) count: i64,
    pub(super) cost: i64,
}

impl Work {
    /// The work that is due by a time.
    pub(super) fn of(steps: &[DeadlineStep], by: i64) -> Self {
        let due = steps.iter().filter(|step| step.from <= by);
        due.fold(Self { count: 0, cost: 0 }, |work, step| Self {
            count: work.count.saturating_add(step.count),
            cost: work.cost.saturating_add(step.cost),
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Danger {
    /// The first of them, rounded to a step.
    pub(super) first: i64,
    /// The last deadline of the requests that go first.
    pub(super) last: i64,
}

/// The requests that go first from `now` on; `None` if all will be done in time. `under_way` is work that precedes all waiting work,
/// `ms_for` gives the duration of work, and `guard_ms` is kept free in addition.
pub(super) fn endangered(
    steps: &[DeadlineStep],
    under_way: i64,
    ms_for: impl Fn(i64) -> Option<i64>,
    guard_ms: i64,
    now: i64,
) -> Option<Danger> {
    let mut cost = under_way;
    let mut first_ms = None;
    let mut last = None;
    for step in steps {
        cost = cost.saturating_add(step.cost.max(1));
        let (needed_ms, left_ms) = (ms_for(cost).unwrap_or(UNKNOWN_MS), step.from.saturating_sub(now));
        match first_ms {
            None if DANGER.of(needed_ms).saturating_add(guard_ms) > left_ms => first_ms = Some(left_ms),
            None => continue,
            Some(first_ms) if COMPANY.of(needed_ms) <= first_ms => {}
            Some(_) => break,
        }
        last = Some(step.from);
    }
    let first = now.saturating_add(first_ms?);
    last.map(|from| Danger { first, last: from.saturating_add(STEP_MS - 1) })
}
