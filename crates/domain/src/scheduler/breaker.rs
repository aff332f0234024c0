//! One circuit breaker per replica: whether it may be sent requests, and whether a failure is a request's own fault.

/// Where the breaker stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Health {
    /// In use.
    Closed,
    /// Not in use; probed at `until`.
    Open {
        /// When its probe is due.
        until: i64,
    },
    /// Its probe was answered: one request at a time until one succeeds.
    HalfOpen {
        /// Since when.
        since: i64,
    },
}

/// How a request ran when it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ran {
    /// Others ran at the same replica.
    AmongOthers,
    /// It had the replica to itself, as it happened.
    Alone,
    /// It had the replica to itself because it is a suspect.
    AloneAsSuspect,
}

/// The breaker and the failures in a row that lead to it.
#[derive(Debug)]
pub(super) struct Breaker {
    health: Health,
    /// Times it opened without a success between.
    openings: u32,
    /// Failures since the last success.
    failures: u32,
    /// The request behind all of those failures, if it was one only.
    sole_offender: Option<i64>,
    /// Something succeeded here before.
    proven: bool,
    reason: String,
}

impl Breaker {
    pub(super) const fn new() -> Self {
        Self {
            health: Health::Closed,
            openings: 0,
            failures: 0,
            sole_offender: None,
            proven: false,
            reason: String::new(),
        }
    }

    pub(super) const fn health(&self) -> Health {
        self.health
    }

    pub(super) const fn is_open(&self) -> bool {
        matches!(self.health, Health::Open { .. })
    }

    pub(super) const fn is_closed(&self) -> bool {
        matches!(self.health, Health::Closed)
    }

    /// Failures since the last success.
    pub(super) const fn failures(&self) -> u32 {
        self.failures
    }

    /// The back-off step of the next opening.
    pub(super) const fn openings(&self) -> u32 {
        self.openings
    }

    /// Why it opened, for the operator.
    pub(super) fn reason(&self) -> &str {
        &self.reason
    }

    /// Whether a failure of `seq` is the request's fault, so that the attempt counts: the replica was healthy.
    ///
    /// Closed: it ran alone there, or every failure since the replica's last success is its own. Half open: it is a
    /// suspect that ran alone, for the probe has just been answered. Open: never.
    pub(super) fn blames(&self, seq: i64, ran: Ran) -> bool {
        match self.health {
            Health::Closed if ran != Ran::AmongOthers => true,
            Health::Closed => self.proven && (self.failures == 0 || self.sole_offender == Some(seq)),
            Health::HalfOpen { .. } => ran == Ran::AloneAsSuspect,
            Health::Open { .. } => false,
        }
    }

    /// Notes a failure; whether the breaker must open now.
    pub(super) fn fail(&mut self, seq: i64, failures_max: u32) -> bool {
        self.sole_offender = (self.failures == 0 || self.sole_offender == Some(seq)).then_some(seq);
        self.failures = self.failures.saturating_add(1);
        match self.health {
            Health::Closed => self.failures >= failures_max,
            Health::HalfOpen { .. } => true,
            Health::Open { .. } => false,
        }
    }

    /// Notes a success; whether a half-open breaker closed by it.
    pub(super) fn succeed(&mut self) -> bool {
        self.proven = true;
        self.failures = 0;
        self.sole_offender = None;
        let closes = matches!(self.health, Health::HalfOpen { .. });
        if closes {
            self.close();
        }
        if self.is_closed() {
            self.openings = 0;
        }
        closes
    }

    /// Opens it, again or for the first time.
    pub(super) fn open(&mut self, until: i64, reason: String) {
        self.health = Health::Open { until };
        self.openings = self.openings.saturating_add(1);
        self.reason = reason;
    }

    /// The probe was answered.
    pub(super) const fn half_open(&mut self, since: i64) {
        self.health = Health::HalfOpen { since };
    }

    /// Takes the replica back into use; its back-off stays until something succeeds.
    pub(super) const fn close(&mut self) {
        self.health = Health::Closed;
        self.failures = 0;
        self.sole_offender = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_opens_after_failures_in_a_row_and_a_success_starts_the_count_again() {
        let mut breaker = Breaker::new();
        assert!((0..4).all(|seq| !breaker.fail(seq, 5)));
        breaker.succeed();
        assert!((0..4).all(|seq| !breaker.fail(seq, 5)));
        assert!(breaker.fail(4, 5));
    }

    #[test]
    fn half_open_closes_with_one_success_and_opens_with_one_failure() {
        let mut breaker = Breaker::new();
        breaker.open(10, "down".into());
        assert!(!breaker.succeed() && breaker.is_open());
        breaker.half_open(20);
        assert!(breaker.fail(1, 5));
        assert!(breaker.succeed() && breaker.is_closed());
        assert_eq!(breaker.openings(), 0);
    }

    #[test]
    fn a_failure_is_blamed_on_a_request_only_where_the_replica_was_healthy() {
        let mut breaker = Breaker::new();
        assert!(breaker.blames(1, Ran::Alone), "alone");
        assert!(!breaker.blames(1, Ran::AmongOthers), "nothing ever succeeded here");
        breaker.succeed();
        assert!(breaker.blames(1, Ran::AmongOthers), "a success was the last thing seen");
        breaker.fail(1, 5);
        assert!(breaker.blames(1, Ran::AmongOthers), "only it failed since");
        assert!(!breaker.blames(2, Ran::AmongOthers), "another failed since");
        breaker.open(10, "down".into());
        assert!(!breaker.blames(1, Ran::AloneAsSuspect));
        breaker.half_open(20);
        assert!(breaker.blames(1, Ran::AloneAsSuspect) && !breaker.blames(1, Ran::Alone));
    }
}
