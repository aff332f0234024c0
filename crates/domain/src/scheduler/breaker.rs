//! One circuit breaker per replica and model: whether it may be sent requests. It opens when a probe fails and never for what requests
//! bring about, so that no account can open it for the others; it closes when a probe is answered.

/// Where the breaker stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    /// In use.
    Closed,
    /// Not in use; probed at `until`.
    Open {
        /// When its probe is due.
        until: i64,
    },
}

/// The breaker.
#[derive(Debug)]
pub(super) struct Breaker {
    health: Health,
    /// Times it opened without a success between.
    openings: u32,
    reason: String,
}

impl Breaker {
    pub(super) const fn new() -> Self {
        Self { health: Health::Closed, openings: 0, reason: String::new() }
    }

    pub(super) const fn is_open(&self) -> bool {
        matches!(self.health, Health::Open { .. })
    }

    /// When its probe is due, while it is open.
    pub(super) const fn probe_at(&self) -> Option<i64> {
        match self.health {
            Health::Open { until } => Some(until),
            Health::Closed => None,
        }
    }

    /// The back-off step of the next opening.
    pub(super) const fn openings(&self) -> u32 {
        self.openings
    }

    /// Why it opened, for the operator.
    pub(super) fn reason(&self) -> &str {
        &self.reason
    }

    /// Opens it, again or for the first time.
    pub(super) fn open(&mut self, until: i64, reason: String) {
        self.health = Health::Open { until };
        self.openings = self.openings.saturating_add(1);
        self.reason = reason;
    }

    /// Takes it back into use; its back-off stays until a request completes.
    pub(super) const fn close(&mut self) {
        self.health = Health::Closed;
    }

    /// A request completed: the next opening is short again.
    pub(super) const fn forgive(&mut self) {
        self.openings = 0;
    }
}
