//! The states of a request and the only ways between them.
//!
//! ```text
//!              release            lease                 settle
//! Gathering ──────────▶ Queued ──────────▶ InProgress ─────────▶ Completed
//!     │                    │                   │
//!     └────────────────────┴───────────────────┴──── fail ─────▶ Failed
//!                                              └──── cancel ───▶ Cancelled
//! ```
//!
//! The scheduler releases, leases and settles; a client cancels; the expirer fails what outlived its deadline.

use thiserror::Error;

/// How long a request may take: the only completion window, in milliseconds.
pub const COMPLETION_WINDOW_MS: i64 = 24 * 60 * 60 * 1000;

/// The state of a request with its times, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestState {
    /// Waits for its siblings until `ready_at`.
    Gathering {
        /// When it may enter the queue.
        ready_at: i64,
    },
    /// Waits in the queue and was never leased.
    Queued,
    /// Was leased to an engine at least once.
    InProgress {
        /// When it was leased first.
        in_progress_at: i64,
    },
    /// The engine answered.
    Completed {
        /// When it was leased first.
        in_progress_at: i64,
        /// When its result was stored.
        ended_at: i64,
    },
    /// The engine refused it permanently, its attempts were used up, or its deadline passed.
    Failed {
        /// When it was leased first, if ever.
        in_progress_at: Option<i64>,
        /// When it failed.
        ended_at: i64,
    },
    /// The client cancelled it or its batch.
    Cancelled {
        /// When it was leased first, if ever.
        in_progress_at: Option<i64>,
        /// When it was cancelled.
        ended_at: i64,
    },
}

/// The states of a request in the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RequestStatus {
    /// Waiting for its turn.
    Registered,
    /// Leased to an engine at least once, not ended.
    InProgress,
    /// Ended with a result.
    Completed,
    /// Ended with an error.
    Failed,
    /// Ended by the client.
    Cancelled,
}

impl RequestStatus {
    /// Every status, in the order of a request's life.
    pub const ALL: [Self; 5] =
        [Self::Registered, Self::InProgress, Self::Completed, Self::Failed, Self::Cancelled];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Registered => "registered",
            Self::InProgress => "in progress",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The status with this name on the wire.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }
}

/// A transition that the state does not allow; the state is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a request that is {} cannot {verb}", from.as_str())]
pub struct InvalidTransition {
    /// The unchanged state.
    pub from: RequestStatus,
    /// The attempted transition.
    pub verb: &'static str,
}

impl RequestState {
    /// The state in the API.
    pub const fn status(&self) -> RequestStatus {
        match self {
            Self::Gathering { .. } | Self::Queued => RequestStatus::Registered,
            Self::InProgress { .. } => RequestStatus::InProgress,
            Self::Completed { .. } => RequestStatus::Completed,
            Self::Failed { .. } => RequestStatus::Failed,
            Self::Cancelled { .. } => RequestStatus::Cancelled,
        }
    }

    /// Whether no further transition is possible.
    pub const fn is_terminal(&self) -> bool {
        matches!(self, Self::Completed { .. } | Self::Failed { .. } | Self::Cancelled { .. })
    }

    /// When it was leased first.
    pub const fn in_progress_at(&self) -> Option<i64> {
        match *self {
            Self::Gathering { .. } | Self::Queued => None,
            Self::InProgress { in_progress_at } | Self::Completed { in_progress_at, .. } => {
                Some(in_progress_at)
            }
            Self::Failed { in_progress_at, .. } | Self::Cancelled { in_progress_at, .. } => in_progress_at,
        }
    }

    /// When it ended.
    pub const fn ended_at(&self) -> Option<i64> {
        match *self {
            Self::Gathering { .. } | Self::Queued | Self::InProgress { .. } => None,
            Self::Completed { ended_at, .. }
            | Self::Failed { ended_at, .. }
            | Self::Cancelled { ended_at, .. } => Some(ended_at),
        }
    }

    /// Gathering is over: it enters the queue.
    pub fn release(self) -> Result<Self, InvalidTransition> {
        match self {
            Self::Gathering { .. } => Ok(Self::Queued),
            _ => Err(self.refuse("be released")),
        }
    }

    /// An engine takes it; a second lease keeps the first time.
    pub fn start(self, now: i64) -> Result<Self, InvalidTransition> {
        match self {
            Self::Queued => Ok(Self::InProgress { in_progress_at: now }),
            Self::InProgress { .. } => Ok(self),
            _ => Err(self.refuse("start")),
        }
    }

    /// The engine answered.
    pub fn complete(self, now: i64) -> Result<Self, InvalidTransition> {
        match self {
            Self::InProgress { in_progress_at } => {
                Ok(Self::Completed { in_progress_at, ended_at: now.max(in_progress_at) })
            }
            _ => Err(self.refuse("complete")),
        }
    }

    /// It ends with an error.
    pub fn fail(self, now: i64) -> Result<Self, InvalidTransition> {
        if self.is_terminal() {
            return Err(self.refuse("fail"));
        }
        let in_progress_at = self.in_progress_at();
        Ok(Self::Failed { in_progress_at, ended_at: now.max(in_progress_at.unwrap_or(now)) })
    }

    /// The client cancels it. A cancelled request stays unchanged.
    pub fn cancel(self, now: i64) -> Result<Self, InvalidTransition> {
        match self {
            Self::Cancelled { .. } => Ok(self),
            Self::Completed { .. } | Self::Failed { .. } => Err(self.refuse("be cancelled")),
            _ => {
                let in_progress_at = self.in_progress_at();
                Ok(Self::Cancelled { in_progress_at, ended_at: now.max(in_progress_at.unwrap_or(now)) })
            }
        }
    }

    const fn refuse(&self, verb: &'static str) -> InvalidTransition {
        InvalidTransition { from: self.status(), verb }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> [RequestState; 6] {
        [
            RequestState::Gathering { ready_at: 5 },
            RequestState::Queued,
            RequestState::InProgress { in_progress_at: 7 },
            RequestState::Completed { in_progress_at: 7, ended_at: 9 },
            RequestState::Failed { in_progress_at: None, ended_at: 9 },
            RequestState::Cancelled { in_progress_at: Some(7), ended_at: 9 },
        ]
    }

    #[test]
    fn a_terminal_state_never_changes() {
        for state in all().into_iter().filter(RequestState::is_terminal) {
            assert!(state.release().is_err() && state.start(20).is_err());
            assert!(state.complete(20).is_err() && state.fail(20).is_err());
            assert!(state.cancel(20).is_err() || state.cancel(20) == Ok(state));
        }
    }

    #[test]
    fn a_second_lease_keeps_the_first_start() {
        let once = RequestState::Queued.start(7).and_then(|state| state.start(20));
        assert_eq!(once, Ok(RequestState::InProgress { in_progress_at: 7 }));
    }

    #[test]
    fn only_work_in_progress_completes() {
        let able: Vec<_> = all().into_iter().filter(|state| state.complete(20).is_ok()).collect();
        assert_eq!(able, [RequestState::InProgress { in_progress_at: 7 }]);
    }

    #[test]
    fn a_clock_that_steps_back_never_ends_a_request_before_it_began() {
        assert_eq!(all()[2].complete(3).map(|state| state.ended_at()), Ok(Some(7)));
        assert_eq!(all()[2].cancel(3).map(|state| state.ended_at()), Ok(Some(7)));
    }

    #[test]
    fn every_status_reads_back_from_its_name() {
        for status in RequestStatus::ALL {
            assert_eq!(RequestStatus::parse(status.as_str()), Some(status));
        }
    }

    #[test]
    fn only_what_gathers_is_released_and_only_what_waits_or_runs_starts() {
        let able = |step: fn(RequestState) -> bool| all().map(step);
        assert_eq!(
            able(|it| it.release() == Ok(RequestState::Queued)),
            [true, false, false, false, false, false]
        );
        assert_eq!(able(|it| it.start(20).is_ok()), [false, true, true, false, false, false]);
        let refused = RequestState::Queued.release();
        assert_eq!(refused, Err(InvalidTransition { from: RequestStatus::Registered, verb: "be released" }));
    }

    #[test]
    fn what_has_completed_failed_or_been_cancelled_has_ended() {
        assert_eq!(all().map(|state| state.is_terminal()), [false, false, false, true, true, true]);
    }

    #[test]
    fn a_state_tells_when_it_began_and_ended() {
        let times = all().map(|state| (state.in_progress_at(), state.ended_at()));
        assert_eq!(
            times,
            [
                (None, None),
                (None, None),
                (Some(7), None),
                (Some(7), Some(9)),
                (None, Some(9)),
                (Some(7), Some(9))
            ]
        );
    }
}
