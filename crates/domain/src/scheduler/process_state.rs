//! The state of the process of a replica's engine, if the shell starts and stops it.

use super::process_rules::{ProcessOrder, ProcessStatus};
use super::retries::Backoff;

/// After a failed start, or an end that nobody asked for.
pub(super) const RESTART: Backoff = Backoff { base_ms: 5_000, cap_ms: 300_000 };

#[derive(Debug)]
pub(super) struct EngineProcess {
    pub(super) status: ProcessStatus,
    pub(super) since: i64,
    pub(super) order: ProcessOrder,
    /// Since when its models have had work for it; `None` if they have none.
    pub(super) wanted_since: Option<i64>,
    /// Since when it has run without work.
    pub(super) idle_since: Option<i64>,
    /// Since when it has been paused for all its models without answering a request, while it runs.
    pub(super) unwell_since: Option<i64>,
    /// How long its last start took, from the order to readiness.
    pub(super) start_ms: Option<i64>,
    /// How long the last swap to it on a shared device took, from the order to end its predecessor.
    pub(super) swap_ms: Option<i64>,
    /// How long it had its device while another waited for that, as far as it counts against it.
    pub(super) used_ms: i64,
    /// Its device was taken from it for the deadlines of another, which paid for the swap back.
    pub(super) is_displaced: bool,
    /// Failed starts and unrequested ends since it last ran for a while.
    pub(super) failures: u32,
    /// Its earliest next start.
    pub(super) not_before: i64,
    /// Why it does not run, if nobody asked for its end.
    pub(super) error: Option<String>,
}

impl EngineProcess {
    pub(super) const fn new() -> Self {
        Self {
            status: ProcessStatus::Stopped,
            since: 0,
            order: ProcessOrder(0),
            wanted_since: None,
            idle_since: None,
            unwell_since: None,
            start_ms: None,
            swap_ms: None,
            used_ms: 0,
            is_displaced: false,
            failures: 0,
            not_before: i64::MIN,
            error: None,
        }
    }

    pub(super) fn enter(&mut self, status: ProcessStatus, now: i64) {
        (self.status, self.since) = (status, now);
        (self.idle_since, self.unwell_since) = (None, None);
    }

    pub(super) fn obey(&mut self, status: ProcessStatus, now: i64) -> ProcessOrder {
        self.enter(status, now);
        self.order.0 += 1;
        self.order
    }

    /// It answered a request: it does not hang, even if it answers no probe.
    pub(super) fn note_answer(&mut self, now: i64) {
        self.unwell_since = self.unwell_since.map(|_| now);
    }

    /// If the clock was set back, moves its times back to `now`, and its next start to within the longest pause.
    pub(super) fn follow_clock(&mut self, now: i64) {
        self.since = self.since.min(now);
        for since in [&mut self.wanted_since, &mut self.idle_since, &mut self.unwell_since] {
            *since = since.map(|since| since.min(now));
        }
        self.not_before = self.not_before.min(now.saturating_add(RESTART.cap_ms));
    }

    /// Whether it may be started at `now`, if it was wanted for `start_after_ms` or `is_urgent`.
    pub(super) fn is_due(&self, start_after_ms: i64, is_urgent: bool, now: i64) -> bool {
        let is_ripe = |since: i64| is_urgent || now.saturating_sub(since) >= start_after_ms;
        self.status == ProcessStatus::Stopped
            && self.not_before <= now
            && self.wanted_since.is_some_and(is_ripe)
    }
}
