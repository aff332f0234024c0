//! One circuit breaker per replica and model: whether it may be sent requests. It opens when a probe fails and never for what requests
//! bring about, so that no account can open it for the others; it closes when a probe is answered.

/// So many refused probes come between two trials with real requests.
const REFUSED_PROBES: u32 = 6;

/// The breaker.
#[derive(Debug)]
pub(super) struct Breaker {
    /// Nothing is sent until a probe is answered, which is due then; `None` while it is closed.
    probe_at: Option<i64>,
    /// Times it opened without a success between.
    openings: u32,
    /// Until then the engine asked to be left alone, with a `Retry-After`.
    asked_until: i64,
    /// Its probe was told that the engine has no room.
    is_busy: bool,
    /// Probes in a row that were refused as its requests were.
    refused_probes: u32,
    /// A request completed though the probe was refused: such a refusal tells nothing until a probe is answered.
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

    /// When its probe is due, while it is open.
    pub(super) const fn probe_at(&self) -> Option<i64> {
        self.probe_at
    }

    /// The back-off step of the next opening.
    pub(super) const fn openings(&self) -> u32 {
        self.openings
    }

    /// Until when the engine asked to be left alone; long ago where it did not, or was found to work since.
    pub(super) const fn asked_until(&self) -> i64 {
        self.asked_until
    }

    /// The engine asked to be left alone until then. That opens nothing: an account may have brought it about.
    pub(super) const fn ask(&mut self, until: i64) {
        self.asked_until = until;
    }

    /// Why it opened, for the operator.
    pub(super) fn reason(&self) -> &str {
        &self.reason
    }

    /// Whether it is open because the engine has no room.
    pub(super) const fn is_busy(&self) -> bool {
        self.is_open() && self.is_busy
    }

    /// Whether its last probe was refused as its requests were.
    pub(super) const fn has_refused_probe(&self) -> bool {
        self.refused_probes > 0
    }

    /// Its probe was refused as its requests were. Whether it stays closed, or closes for a trial, because only the probe may be at fault.
    pub(super) const fn note_refused_probe(&mut self) -> bool {
        self.refused_probes += 1;
        self.is_probe_wrong || self.refused_probes.is_multiple_of(REFUSED_PROBES)
    }

    /// Its probe was answered.
    pub(super) const fn note_answered_probe(&mut self) {
        (self.refused_probes, self.is_probe_wrong) = (0, false);
    }

    /// Opens it, again or for the first time.
    pub(super) fn open(&mut self, until: i64, is_busy: bool, reason: String) {
        self.probe_at = Some(until);
        self.is_busy = is_busy;
        self.openings = self.openings.saturating_add(1);
        self.reason = reason;
    }

    /// Takes it back into use; its back-off stays until a request completes.
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
