//! Faults of engines, the requests that they strike, and their duration.

use super::{World, status};
use crate::scheduler::{AttemptError, ProbeOutcome};

#[derive(Debug, Clone)]
pub(in super::super) struct Fault {
    pub(in super::super) error: AttemptError,
    pub(in super::super) scope: Scope,
    pub(in super::super) until: i64,
}

#[derive(Debug, Clone, Copy)]
pub(in super::super) enum Scope {
    /// Those with a smaller number.
    Requests(i64),
    /// All, and probes.
    Engine,
    /// Half of all, and of probes.
    OneOfTwoBackends,
}

impl World {
    /// The fault of an engine for a request, or for a probe.
    pub(super) fn draw_fault(&mut self, seq: Option<i64>) -> Option<AttemptError> {
        let fault = self.fault.clone().filter(|fault| self.now < fault.until)?;
        let strikes = match (fault.scope, seq) {
            (Scope::Requests(_), None) => false,
            (Scope::Requests(most), Some(seq)) => seq < most,
            (Scope::Engine, _) => true,
            (Scope::OneOfTwoBackends, _) => self.strikes(500),
        };
        strikes.then_some(fault.error)
    }

    pub(super) fn note_named_time(&mut self, seq: i64, error: &AttemptError) {
        if let AttemptError::Status { code: 429 | 503, retry_after_ms: Some(ms), .. } = error {
            self.named_times.insert(seq, self.now + ms);
        }
    }

    pub(super) fn draw_error(&mut self) -> AttemptError {
        match self.random.up_to(6) {
            0 => AttemptError::Reset("broken".into()),
            1 => AttemptError::TimedOut("slow".into()),
            2 => AttemptError::Connect("refused".into()),
            3 => AttemptError::NotACompletion("html".into()),
            4 => status(429),
            5 => status(503),
            _ => status(500),
        }
    }
}

/// The outcome for a probe of the same fault as for requests.
pub(super) fn probed(error: AttemptError) -> ProbeOutcome {
    match error {
        AttemptError::Status { code: 429 | 503, message, retry_after_ms } => {
            ProbeOutcome::Busy { retry_after_ms, message }
        }
        AttemptError::Status { code: code @ (400 | 413 | 422), message, .. } => {
            ProbeOutcome::Refused { code, message }
        }
        AttemptError::TimedOut(why) | AttemptError::TooSlow(why) => ProbeOutcome::TimedOut(why),
        error => ProbeOutcome::Failed(format!("{error:?}")),
    }
}
