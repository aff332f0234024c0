//! One circuit breaker per replica and model: whether it may be sent requests. It opens when a probe fails, never because of requests, so
//! no account can open it for others. It closes when a probe is answered.

/// Refused probes between two trials with real requests.
const REFUSED_PROBES: u32 = 6;

#[derive(Debug)]
pub(super) struct Breaker {
    /// When its next probe is due; no request is sent before that is answered. `None` if the breaker is closed.
    probe_at: Option<i64>,
    /// Without a success in between.
    openings: u32,
    /// Until when the engine asked for a pause with `Retry-After`.
    asked_until: i64,
    /// The engine had no room for its probe.
    is_busy: bool,
    /// In a row, in the same way as its requests.
    refused_probes: u32,
    /// A request completed although the probe was refused: such refusals are ignored until a probe is answered.
    is_probe_wrong: bool,
    reason: String,
}

impl Breaker {
    pub(super) const fn new() -> Self {
        Self {
            probe_at: None,
            openings: 0,
            asked_until: i64::MIN,
            is_busy: false,
            refused_probes: 0,
            is_probe_wrong: false,
            reason: String::new(),
        }
    }

    pub(super) const fn is_open(&self) -> bool {
        self.probe_at.is_some()
    }

    pub(super) const fn probe_at(&self) -> Option<i64> {
        self.probe_at
    }

    /// The back-off step of the next opening.
    pub(super) const fn openings(&self) -> u32 {
        self.openings
    }

    /// In the past if the engine did not ask, or was found to work since.
    pub(super) const fn asked_until(&self) -> i64 {
        self.asked_until
    }

    /// Does not open the breaker, because an account may have caused it.
    pub(super) const fn ask(&mut self, until: i64) {
        self.asked_until = until;
    }

    pub(super) fn reason(&self) -> &str {
        &self.reason
    }

    /// Whether it is open because the engine has no room.
    pub(super) const fn is_busy(&self) -> bool {
        self.is_open() && self.is_busy
    }

    pub(super) const fn has_refused_probe(&self) -> bool {
        self.refused_probes > 0
    }

    /// The probe was refused in the same way as its requests. Returns whether the breaker stays closed, or closes for a trial, because only
    /// the probe may be at fault.
    pub(super) const fn note_refused_probe(&mut self) -> bool {
        self.refused_probes += 1;
        self.is_probe_wrong || self.refused_probes.is_multiple_of(REFUSED_PROBES)
    }

    pub(super) const fn note_answered_probe(&mut self) {
        (self.refused_probes, self.is_probe_wrong) = (0, false);
    }

    pub(super) fn open(&mut self, until: i64, is_busy: bool, reason: String) {
        self.probe_at = Some(until);
        self.is_busy = is_busy;
        self.openings = self.openings.saturating_add(1);
        self.reason = reason;
    }

    /// Its back-off stays until a request completes.
    pub(super) const fn close(&mut self) {
        self.probe_at = None;
        self.asked_until = i64::MIN;
    }

    /// A request completed: the next opening is short again.
    pub(super) const fn forgive(&mut self) {
        self.openings = 0;
        self.is_probe_wrong |= self.refused_probes > 0;
        self.refused_probes = 0;
    }
}
