//! The scheduler's own time, which never goes back: if the clock is set back, it continues from where it was, so every wait ends when it
//! would have ended. Times of day are converted in inputs and in commands.

use super::Scheduler;
use super::messages::{SchedulerCommand, SchedulerInput};

#[derive(Debug)]
pub(super) struct SteadyTime {
    /// In the scheduler's time.
    latest: i64,
    /// How far the scheduler's time is ahead of the clock, in milliseconds: the sum of all set-backs.
    ahead_ms: i64,
}

impl SteadyTime {
    pub(super) const fn new() -> Self {
        Self { latest: i64::MIN, ahead_ms: 0 }
    }

    /// The clock shows `now`. Returns by how much it was set back since it was read last.
    fn pass(&mut self, now: i64) -> i64 {
        let own = self.own(now);
        let set_back_ms = self.latest.saturating_sub(own).max(0);
        self.ahead_ms = self.ahead_ms.saturating_add(set_back_ms);
        self.latest = self.latest.max(own);
        set_back_ms
    }

    /// Converts a time of the clock.
    pub(super) const fn own(&self, at: i64) -> i64 {
        at.saturating_add(self.ahead_ms)
    }

    /// Converts to a time of the clock; `i64::MAX` (never) stays.
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
    /// The scheduler's time when the clock shows `now`. If it was set back, shifts the known deadlines and hours, which are times of day,
    /// and announces the next wake-up to the shell again.
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

    /// Converts an input to the scheduler's time.
    pub(super) fn read(&self, input: SchedulerInput) -> SchedulerInput {
        self.time.read(input)
    }

    /// Takes the commands, in times of the clock.
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
