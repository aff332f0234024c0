//! Asks the store for the deadlines of each partition's requests, and lets those in danger go first.

use super::Scheduler;
use super::deadlines::{DeadlineStep, STEP_MS};
use super::messages::{QueuePartition, SchedulerCommand};
use super::timers::Timer;

/// A pause follows each count: a millisecond for this many rows, and at least a multiple of the time that the answer took. So counts use a
/// small part of a reader's time.
const ROWS_PER_MS: i64 = 50;
const PAUSE_TIMES: i64 = 20;
const PAUSE_MAX_MS: i64 = 300_000;
/// A count without an answer is repeated after this time.
const PATIENCE_MS: i64 = 600_000;

#[derive(Debug, Default)]
pub(super) struct DeadlineCounts {
    asked: Option<(QueuePartition, i64)>,
    next_at: i64,
}

impl DeadlineCounts {
    pub(super) const fn new() -> Self {
        Self { asked: None, next_at: i64::MIN }
    }

    pub(super) fn undo(&mut self) {
        self.asked = None;
    }
}

impl Scheduler {
    /// Counts the partition whose last count is oldest, once the pause is over.
    pub(super) fn ask_deadlines(&mut self, now: i64) {
        // The clock may have been set back.
        self.deadline_counts.asked.take_if(|(_, asked_at)| !(0..PATIENCE_MS).contains(&(now - *asked_at)));
        let pause_ms = self.deadline_counts.next_at.saturating_sub(now);
        let is_pausing = (1..=PAUSE_MAX_MS).contains(&pause_ms);
        if self.deadline_counts.asked.is_some() || is_pausing || self.is_draining {
            return;
        }
        let is_shared = self.settings.is_shared;
        let partitions = self.models.iter().flat_map(|(model, state)| {
            let key = |account: &_| QueuePartition { model: *model, account: *account };
            let partitions = state.partitions.iter();
            partitions
                .filter(|(_, it)| it.may_be_late(state.mean_cost(), is_shared, state.capacity > 0, now))
                .map(move |(account, it)| (it.counted_at(), key(account)))
        });
        if let Some((_, partition)) = partitions.min() {
            self.deadline_counts.asked = Some((partition, now));
            self.out.push(SchedulerCommand::CountDeadlines { partition, step_ms: STEP_MS });
        }
    }

    pub(super) fn note_deadlines(
        &mut self,
        partition: QueuePartition,
        steps: &[DeadlineStep],
        segments: usize,
        now: i64,
    ) {
        if let Some((_, asked_at)) = self.deadline_counts.asked.take_if(|(asked, _)| *asked == partition) {
            let rows = steps.iter().fold(0_i64, |sum, step| sum.saturating_add(step.count));
            let pause_ms = (rows / ROWS_PER_MS).max(PAUSE_TIMES * (now - asked_at).max(0));
            let next_at = now + pause_ms.min(PAUSE_MAX_MS);
            self.deadline_counts.next_at = next_at;
            self.timers.set(Timer::Count, Some(next_at));
        }
        let guard_ms = self.settings.deadline_guard_ms.saturating_add(self.start_guard_ms(partition.model));
        let Some(model) = self.models.get_mut(&partition.model) else { return };
        let Some(state) = model.partitions.get_mut(&partition.account) else { return };
        state.note_deadlines(steps, segments, guard_ms, model.capacity > 0, now);
        self.touch_model(partition.model);
    }
}
