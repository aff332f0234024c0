//! The state of a batch: a view over its requests, changed only by their counters and by a cancel.
//!
//! ```text
//! Registered ── first request starts or ends ──▶ InProgress ── last request ends ──▶ Completed
//!      └───────────────── cancel ─────────────────────┴──────────────────────────▶ Cancelled
//! ```

use thiserror::Error;

use crate::requests::RequestStatus;

/// How many requests of a batch have each status. Their sum is always [`Counters::total`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Waiting for their turn.
    pub registered: i64,
    /// With an engine.
    pub in_progress: i64,
    /// Ended with a result.
    pub completed: i64,
    /// Ended with an error.
    pub failed: i64,
    /// Ended by the client.
    pub cancelled: i64,
}

impl Counters {
    /// The number of requests in the batch.
    pub const fn total(&self) -> i64 {
        self.registered + self.in_progress + self.completed + self.failed + self.cancelled
    }

    /// The number of requests that have not ended.
    pub const fn live(&self) -> i64 {
        self.registered + self.in_progress
    }

    /// The counter of one status.
    pub const fn of(&mut self, status: RequestStatus) -> &mut i64 {
        match status {
            RequestStatus::Registered => &mut self.registered,
            RequestStatus::InProgress => &mut self.in_progress,
            RequestStatus::Completed => &mut self.completed,
            RequestStatus::Failed => &mut self.failed,
            RequestStatus::Cancelled => &mut self.cancelled,
        }
    }

    /// Moves `count` requests from one status to another. Also used for differences, whose sum is zero.
    pub const fn shift(&mut self, from: RequestStatus, to: RequestStatus, count: i64) {
        *self.of(from) -= count;
        *self.of(to) += count;
    }

    /// The number of requests that have ended.
    pub const fn ended(&self) -> i64 {
        self.completed + self.failed + self.cancelled
    }

    /// The sum, status by status.
    #[must_use]
    pub const fn plus(&self, other: &Self) -> Self {
        Self {
            registered: self.registered + other.registered,
            in_progress: self.in_progress + other.in_progress,
            completed: self.completed + other.completed,
            failed: self.failed + other.failed,
            cancelled: self.cancelled + other.cancelled,
        }
    }
}

/// The state of a batch with its times, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchState {
    /// None of its requests has started.
    Registered,
    /// Its first request started or ended.
    InProgress {
        /// When the first start or end was seen.
        in_progress_at: i64,
    },
    /// Every request of it has ended.
    Completed {
        /// When the first start or end was seen.
        in_progress_at: i64,
        /// When the last end was seen.
        completed_at: i64,
    },
    /// The client cancelled it; its live requests become cancelled.
    Cancelled {
        /// When the first start or end was seen, if before the cancel.
        in_progress_at: Option<i64>,
        /// When it was cancelled.
        cancelled_at: i64,
    },
}

/// The states of a batch in the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BatchStatus {
    /// None of its requests has started.
    Registered,
    /// A request of it has started or ended.
    InProgress,
    /// Every request of it has ended.
    Completed,
    /// The client cancelled it.
    Cancelled,
}

impl BatchStatus {
    /// Every status, in the order of a batch's life.
    pub const ALL: [Self; 4] = [Self::Registered, Self::InProgress, Self::Completed, Self::Cancelled];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Registered => "registered",
            Self::InProgress => "in progress",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The status with this name on the wire.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }
}

/// A completed batch cannot be cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a completed batch cannot be cancelled")]
pub struct AlreadyCompleted;

impl BatchState {
    /// The state of a batch created at `now` with these counters.
    pub fn new(counters: &Counters, now: i64) -> Self {
        Self::Registered.observe(counters, now)
    }

    /// The state after its counters became `counters` at `now`. States only move forward.
    #[must_use]
    pub fn observe(self, counters: &Counters, now: i64) -> Self {
        match self {
            Self::Registered if counters.registered == counters.total() => self,
            Self::Registered => Self::InProgress { in_progress_at: now }.observe(counters, now),
            Self::InProgress { in_progress_at } if counters.live() == 0 => {
                Self::Completed { in_progress_at, completed_at: now.max(in_progress_at) }
            }
            Self::InProgress { .. } | Self::Completed { .. } | Self::Cancelled { .. } => self,
        }
    }

    /// The client cancels it. A cancelled batch stays unchanged.
    pub fn cancel(self, now: i64) -> Result<Self, AlreadyCompleted> {
        match self {
            Self::Registered => Ok(Self::Cancelled { in_progress_at: None, cancelled_at: now }),
            Self::InProgress { in_progress_at } => Ok(Self::Cancelled {
                in_progress_at: Some(in_progress_at),
                cancelled_at: now.max(in_progress_at),
            }),
            Self::Cancelled { .. } => Ok(self),
            Self::Completed { .. } => Err(AlreadyCompleted),
        }
    }

    /// The state in the API.
    pub const fn status(&self) -> BatchStatus {
        match self {
            Self::Registered => BatchStatus::Registered,
            Self::InProgress { .. } => BatchStatus::InProgress,
            Self::Completed { .. } => BatchStatus::Completed,
            Self::Cancelled { .. } => BatchStatus::Cancelled,
        }
    }

    /// When the first start or end of a request was seen.
    pub const fn in_progress_at(&self) -> Option<i64> {
        match *self {
            Self::Registered => None,
            Self::InProgress { in_progress_at } | Self::Completed { in_progress_at, .. } => {
                Some(in_progress_at)
            }
            Self::Cancelled { in_progress_at, .. } => in_progress_at,
        }
    }

    /// When the end of the last request was seen.
    pub const fn completed_at(&self) -> Option<i64> {
        match *self {
            Self::Completed { completed_at, .. } => Some(completed_at),
            _ => None,
        }
    }

    /// When the client cancelled it.
    pub const fn cancelled_at(&self) -> Option<i64> {
        match *self {
            Self::Cancelled { cancelled_at, .. } => Some(cancelled_at),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAITING: Counters =
        Counters { registered: 2, in_progress: 0, completed: 0, failed: 0, cancelled: 0 };

    fn after(moves: &[(RequestStatus, RequestStatus)]) -> Counters {
        let mut counters = WAITING;
        moves.iter().for_each(|&(from, to)| counters.shift(from, to, 1));
        counters
    }

    #[test]
    fn a_batch_follows_its_requests() {
        use RequestStatus::{Completed, Failed, InProgress, Registered};
        let state = BatchState::new(&WAITING, 1);
        assert_eq!(state, BatchState::Registered);
        let state = state.observe(&after(&[(Registered, InProgress)]), 2);
        assert_eq!(state, BatchState::InProgress { in_progress_at: 2 });
        let state = state.observe(&after(&[(Registered, Completed)]), 3);
        assert_eq!(state, BatchState::InProgress { in_progress_at: 2 });
        let state = state.observe(&after(&[(Registered, Completed), (Registered, Failed)]), 4);
        assert_eq!(state, BatchState::Completed { in_progress_at: 2, completed_at: 4 });
    }

    #[test]
    fn a_batch_of_ended_requests_is_completed_at_once() {
        let counters = Counters { completed: 3, ..Counters::default() };
        assert_eq!(
            BatchState::new(&counters, 5),
            BatchState::Completed { in_progress_at: 5, completed_at: 5 }
        );
    }

    #[test]
    fn a_cancelled_batch_stays_cancelled_when_its_requests_end() {
        let state = BatchState::Registered.cancel(3);
        let ended = Counters { cancelled: 2, ..Counters::default() };
        assert_eq!(state.map(|state| state.observe(&ended, 9)), state);
        assert_eq!(state.and_then(|state| state.cancel(9)), state);
    }

    #[test]
    fn a_completed_batch_cannot_be_cancelled() {
        let state = BatchState::Completed { in_progress_at: 1, completed_at: 2 };
        assert_eq!(state.cancel(9), Err(AlreadyCompleted));
    }

    #[test]
    fn counters_add_up_status_by_status() {
        // // Each decimal digit is one status, so all sums differ.
        let counters = |of: i64| Counters {
            registered: of,
            in_progress: of * 10,
            completed: of * 100,
            failed: of * 1_000,
            cancelled: of * 10_000,
        };
        assert_eq!(counters(1).total(), 11_111);
        assert_eq!(counters(1).live(), 11);
        assert_eq!(counters(1).ended(), 11_100);
        assert_eq!(counters(2).plus(&counters(3)), counters(5));
    }

    #[test]
    fn a_shift_moves_requests_between_two_statuses_and_keeps_their_number() {
        let mut counters = WAITING;
        counters.shift(RequestStatus::Registered, RequestStatus::Failed, 2);
        assert_eq!(counters, Counters { failed: 2, ..Counters::default() });
        counters.shift(RequestStatus::Failed, RequestStatus::Cancelled, 1);
        assert_eq!(counters, Counters { failed: 1, cancelled: 1, ..Counters::default() });
    }

    #[test]
    fn a_state_tells_its_status_and_the_times_that_belong_to_it() {
        let told = |it: BatchState| (it.status(), it.in_progress_at(), it.completed_at(), it.cancelled_at());
        assert_eq!(told(BatchState::Registered), (BatchStatus::Registered, None, None, None));
        let started = BatchState::InProgress { in_progress_at: 2 };
        assert_eq!(told(started), (BatchStatus::InProgress, Some(2), None, None));
        let completed = BatchState::Completed { in_progress_at: 2, completed_at: 3 };
        assert_eq!(told(completed), (BatchStatus::Completed, Some(2), Some(3), None));
        let cancelled = BatchState::Cancelled { in_progress_at: Some(2), cancelled_at: 4 };
        assert_eq!(told(cancelled), (BatchStatus::Cancelled, Some(2), None, Some(4)));
    }

    #[test]
    fn no_state_ends_before_it_began_though_a_clock_went_back() {
        let started = BatchState::InProgress { in_progress_at: 5 };
        let ended = Counters { completed: 1, ..Counters::default() };
        assert_eq!(started.observe(&ended, 3), BatchState::Completed { in_progress_at: 5, completed_at: 5 });
        let cancelled = BatchState::Cancelled { in_progress_at: Some(5), cancelled_at: 5 };
        assert_eq!(started.cancel(3), Ok(cancelled));
    }

    #[test]
    fn every_status_has_a_name_that_is_read_back() {
        let names = ["registered", "in progress", "completed", "cancelled"];
        assert_eq!(BatchStatus::ALL.map(BatchStatus::as_str), names);
        assert_eq!(names.map(BatchStatus::parse), BatchStatus::ALL.map(Some));
        assert_eq!(BatchStatus::parse("queued"), None);
    }
}
