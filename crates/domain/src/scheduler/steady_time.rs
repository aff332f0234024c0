//! The scheduler's own time. It never goes back: where the clock is set back, the scheduler's time goes on from where it stood, so every
//! wait ends when it would have ended. Times of day that come in are converted at this border, and those that go out are converted back.

use super::Scheduler;
use super::messages::{SchedulerCommand, SchedulerInput};

/// How the scheduler's time compares with the clock.
#[derive(Debug)]
pub(super) struct SteadyTime {
    /// The latest time that was seen, in the scheduler's time.
    latest: i64,
    /// By how much the scheduler's time is ahead of the clock, in milliseconds: as much as the clock was set back in all.
    ahead_ms: i64,
}

impl SteadyTime {
    pub(super) const fn new() -> Self {
        Self { latest: i64::MIN, ahead_ms: 0 }
    }

    /// The clock shows `now`: by how much it was set back since it was read last.
    fn pass(&mut self, now: i64) -> i64 {
        let own = self.own(now);
        let set_back_ms = self.latest.saturating_sub(own).max(0);
        self.ahead_ms = self.ahead_ms.saturating_add(set_back_ms);
        self.latest = self.latest.max(own);
        set_back_ms
    }

    /// The scheduler's time for a time of the clock.
    pub(super) const fn own(&self, at: i64) -> i64 {
        at.saturating_add(self.ahead_ms)
    }

    /// The time that the clock shows at a time of the scheduler; what never comes never comes.
    pub(super) const fn shown(&self, at: i64) -> i64 {
        if at == i64::MAX { at } else { at.saturating_sub(self.ahead_ms) }
    }

    fn read(&self, mut input: SchedulerInput) -> SchedulerInput {
        match &mut input {
            SchedulerInput::Gathering { ready_at } => *ready_at = self.own(*ready_at),
            SchedulerInput::Released { next_ready_at, .. } => {
                *next_ready_at = next_ready_at.map(|at| self.own(at));
            }
            SchedulerInput::Delayed(delayed) => {
                delayed.iter_mut().for_each(|(_, retry_at)| *retry_at = self.own(*retry_at));
            }
            SchedulerInput::Candidates { candidates, .. } => {
                candidates.iter_mut().for_each(|it| it.deadline = self.own(it.deadline));
            }
            SchedulerInput::Deadlines { steps, .. } => {
                steps.iter_mut().for_each(|step| step.from = self.own(step.from));
            }
            SchedulerInput::Hours { hours, .. } => hours.until = hours.until.map(|at| self.own(at)),
            SchedulerInput::Undone(command) => convert(command, |at| self.own(at)),
            _ => {}
        }
        input
    }
}

/// Converts every time in a command.
fn convert(command: &mut SchedulerCommand, time: impl Fn(i64) -> i64) {
    match command {
        SchedulerCommand::ReleaseLease { retry_at, attempt, .. } => {
            *retry_at = time(*retry_at);
            attempt.iter_mut().for_each(|attempt| attempt.at = time(attempt.at));
        }
        SchedulerCommand::Fail { attempt, .. } => attempt.at = time(attempt.at),
        SchedulerCommand::Pause { until, .. } => *until = time(*until),
        SchedulerCommand::WakeAt { at } => *at = time(*at),
        _ => {}
    }
}

impl Scheduler {
    /// The scheduler's time when the clock shows `now`. Where it was set back, what is known of deadlines and hours, which are times of
    /// day, moves away, and the shell is told anew when to wake it.
    pub(super) fn pass(&mut self, now: i64) -> i64 {
        let set_back_ms = self.time.pass(now);
        if set_back_ms > 0 {
            let of_replicas = self.replicas.values_mut().map(|replica| &mut replica.hours);
            for hours in of_replicas.chain(self.hours.values_mut()) {
                hours.until = hours.until.map(|at| at.saturating_add(set_back_ms));
            }
            for held in self.leases_held.values_mut() {
                held.deadline = held.deadline.saturating_add(set_back_ms);
            }
            self.timers.announce_again();
        }
        self.time.own(now)
    }

    /// An input as it is told, in the scheduler's time.
    pub(super) fn read(&self, input: SchedulerInput) -> SchedulerInput {
        self.time.read(input)
    }

    /// What is to be done, in times of the clock.
    pub(super) fn take_commands(&mut self) -> Vec<SchedulerCommand> {
        let mut commands = std::mem::take(&mut self.out);
        commands.iter_mut().for_each(|command| convert(command, |at| self.time.shown(at)));
        commands
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on_while_the_clock_is_set_back_and_follows_it_forward() {
        let mut time = SteadyTime::new();
        let mut own = |now| {
            time.pass(now);
            (time.own(now), time.ahead_ms, time.shown(time.own(now)))
        };
        assert_eq!(own(1_000), (1_000, 0, 1_000));
        assert_eq!(own(5_000), (5_000, 0, 5_000));
        assert_eq!(own(2_000), (5_000, 3_000, 2_000), "set back");
        assert_eq!(own(2_500), (5_500, 3_000, 2_500));
        assert_eq!(own(2_400), (5_500, 3_100, 2_400), "and again");
        assert_eq!(own(9_000), (12_100, 3_100, 9_000), "set forward");
        assert_eq!(time.shown(i64::MAX), i64::MAX);
    }
}
