//! The deadline guard: whether the requests of a partition will be done in time, and which of them go first if not.
//!
//! The sweep passes every request once a revolution, in whatever order their deadlines have. That is in time as long as a
//! revolution is short. Where it is not, the work that is due by a time must fit into the time until then, for each such time
//! (S. K. Baruah, L. E. Rosier, R. R. Howell: "Algorithms and complexity concerning the preemptive scheduling of periodic,
//! real-time tasks on one processor", 1990). Where it barely fits, the requests that are due by then go first, and as many others
//! as can be swept before the time that is in danger: so they lose little of their order.
//!
//! Deadlines change the order only where they must. A sweep passes every request once per revolution, which is in time while a
//! revolution is short. Therefore the scheduler counts the waiting requests of a queue partition by deadline, in steps of 5 minutes,
//! one partition after the other and with pauses, so that counts take a small part of a reader's time. Work that is due by some time
//! must fit into the time until then. Where it does not fit half as much again and 10 minutes besides, the requests that are due by
//! then *go first*, with as many later ones as can be done before that time. They are swept in key order and shared among replicas
//! like all others, so they lose little of their prefix cache. This changes the order within an account's share of the engines, not
//! the shares; engines outside their hours take nothing else (`domain::scheduler::deadlines`, `due_first`).

/// Deadlines are counted in steps of so many milliseconds.
pub(super) const STEP_MS: i64 = 300_000;
/// A time is in danger where the work that is due by it takes more than this part of what is left, and the guard.
const DANGER: Ratio = Ratio(3, 2);
/// Requests that are due later go along where all that takes less than this part of what is left.
const COMPANY: Ratio = Ratio(6, 5);
/// Work whose pace is not known is taken to last so long, in milliseconds.
const UNKNOWN_MS: i64 = 3_600_000;

#[derive(Clone, Copy)]
struct Ratio(i64, i64);

impl Ratio {
    const fn of(self, ms: i64) -> i64 {
        (ms / self.1).saturating_mul(self.0)
    }
}

/// The waiting requests of a partition whose deadlines lie in one step of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeadlineStep {
    /// When the step begins, in milliseconds: a multiple of its length.
    pub from: i64,
    /// Requests.
    pub count: i64,
    /// Their estimated work, see [`super::Candidate::cost`].
    pub cost: i64,
}

/// Requests, and their estimated work.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    pub(super) count: i64,
    pub(super) cost: i64,
}

impl Work {
    /// What is due by a time.
    pub(super) fn of(steps: &[DeadlineStep], by: i64) -> Self {
        let due = steps.iter().filter(|step| step.from <= by);
        due.fold(Self { count: 0, cost: 0 }, |work, step| Self {
            count: work.count.saturating_add(step.count),
            cost: work.cost.saturating_add(step.cost),
        })
    }
}

/// Deadlines that are in danger, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Danger {
    /// The first of them, to the step.
    pub(super) first: i64,
    /// The last deadline of the requests that go first.
    pub(super) last: i64,
}

/// Which requests go first from `now` on; `None` where all will be done in time. `under_way` is work that
/// comes before any that waits, `ms_for` tells how long work takes, and `guard_ms` is time that is kept free besides.
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
