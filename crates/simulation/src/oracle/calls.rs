//! A client's knowledge of a call with an idempotency key, and of its repeats.

use crate::broken::{Step, ensure};
use crate::summary::Summary;

/// How often a call was sent, and the outcomes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Calls {
    sent: u32,
    refused: u32,
    /// Calls whose answers a crash lost.
    lost: u32,
    under_way: u32,
    /// The number of commits at the first answer that was not a refusal.
    done_at: Option<u64>,
}

impl Calls {
    pub(crate) const NONE: Self = Self { sent: 0, refused: 0, lost: 0, under_way: 0, done_at: None };

    pub(crate) const fn is_sent(&self) -> bool {
        self.sent > 0
    }

    pub(crate) const fn is_under_way(&self) -> bool {
        self.under_way > 0
    }

    /// Whether the call certainly had no effect. A call without an answer may have had one.
    pub(crate) const fn is_refused(&self) -> bool {
        self.sent > 0 && self.refused == self.sent
    }

    pub(crate) const fn send(&mut self) {
        self.sent += 1;
        self.under_way += 1;
    }

    /// The process died. Returns whether an answer is lost.
    pub(crate) const fn lose(&mut self) -> bool {
        let lost = std::mem::replace(&mut self.under_way, 0);
        self.lost += lost;
        lost > 0
    }

    pub(crate) const fn refuse(&mut self) {
        self.under_way -= 1;
        self.refused += 1;
    }

    pub(crate) fn end_new(&mut self, summary: &mut Summary) -> Step {
        ensure!(self.done_at.is_none(), "a repeat was done anew: {self:?}");
        self.under_way -= 1;
        self.done_at = Some(summary.commits);
        summary.repeats_undone += u64::from(self.lost > 0);
        summary.repeats_of_refused += u64::from(self.refused > 0);
        Ok(())
    }

    /// A call that was sent after so many commits got the same answer as an earlier one.
    pub(crate) fn end_repeat(&mut self, sent_at: u64, summary: &mut Summary) -> Step {
        self.under_way -= 1;
        match self.done_at {
            Some(done_at) if sent_at < done_at => summary.repeats_beside += 1,
            Some(_) => summary.repeats_of_answered += 1,
            None => {
                ensure!(self.lost > 0, "a call was answered as a repeat of none: {self:?}");
                self.done_at = Some(summary.commits);
                summary.repeats_of_unheard += 1;
            }
        }
        Ok(())
    }
}
