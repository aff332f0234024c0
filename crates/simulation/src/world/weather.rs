//! External faults: engines and clocks.

use overnight_domain::scheduler::{AttemptError, ReplicaKey};

use super::World;
use crate::broken::Step;
use crate::engines::Weather;
use crate::events::{Duty, Event};

/// How often the service compares its clock with the machine's.
const LOOK_MS: i64 = 1_000;
const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
/// A blackout is longer than a completion window.
const BLACKOUT_AT_MS: i64 = 6 * HOUR_MS;
const BLACKOUT_END_MS: i64 = 32 * HOUR_MS;

impl World<'_> {
    /// Draws each engine's weather for the whole run.
    pub(super) fn plan_weather(&mut self) {
        let end_at = self.plan.hours * HOUR_MS;
        for replica in self.engines.keys() {
            if self.plan.has_blackout {
                let weather = *self.chance.pick(&[Weather::Down, Weather::Barred]);
                self.timeline.after(BLACKOUT_AT_MS, Event::Weather { replica, weather });
                self.timeline.after(BLACKOUT_END_MS, Event::Weather { replica, weather: Weather::Fair });
                continue;
            }
            let mut at = self.chance.between(0, 2 * HOUR_MS);
            while at < end_at {
                let (weather, ms) = self.draw_weather();
                self.timeline.after(at, Event::Weather { replica, weather });
                self.timeline.after(at + ms, Event::Weather { replica, weather: Weather::Fair });
                at += ms + self.chance.between(MINUTE_MS, 4 * HOUR_MS);
            }
        }
    }

    fn draw_weather(&mut self) -> (Weather, i64) {
        if self.plan.is_calm {
            let weather = *self.chance.pick(&[
                Weather::Flaky,
                Weather::Down,
                Weather::Full,
                Weather::Slow,
                Weather::Lying,
            ]);
            return (weather, self.chance.between(1_000, MINUTE_MS));
        }
        let weather = *self.chance.pick(&[
            Weather::Flaky,
            Weather::Flaky,
            Weather::Flaky,
            Weather::Slow,
            Weather::Full,
            Weather::Down,
            Weather::Down,
            Weather::Silent,
            Weather::Barred,
            Weather::Lying,
        ]);
        let is_long = self.chance.strikes(150) && weather != Weather::Flaky;
        let ms = match is_long {
            true => self.chance.between(30 * MINUTE_MS, 5 * HOUR_MS),
            false => self.chance.between(1_000, 20 * MINUTE_MS),
        };
        (weather, ms)
    }

    pub(super) fn change_weather(&mut self, replica: ReplicaKey, weather: Weather) -> Step {
        let before = self.engines.weather(replica);
        self.engines.set_weather(replica, weather);
        let has_restarted = before == Weather::Silent || weather == Weather::Down;
        if has_restarted && before != weather {
            return self.break_connections(replica);
        }
        Ok(())
    }

    fn break_connections(&mut self, replica: ReplicaKey) -> Step {
        for flight in self.engines.empty(replica) {
            self.fail(&flight, AttemptError::Reset("the connection broke".into()))?;
        }
        Ok(())
    }

    /// Draws when the clock is set, and by how much.
    pub(super) fn plan_jumps(&mut self) {
        let end_at = self.plan.hours * HOUR_MS;
        for _ in 0..self.chance.between(1, 8) {
            let ms = self.draw_jump_ms();
            let at = self.chance.between(0, end_at);
            self.timeline.after(at, Event::Jump { ms });
        }
    }

    pub(super) fn draw_jump_ms(&mut self) -> i64 {
        match self.chance.between(0, 99) {
            _ if self.plan.is_calm => self.chance.between(-MINUTE_MS, MINUTE_MS),
            0..=39 => -self.chance.between(500, 10 * MINUTE_MS),
            40..=44 => self.chance.between(23 * HOUR_MS, 26 * HOUR_MS),
            45..=59 => self.chance.between(10 * MINUTE_MS, 5 * HOUR_MS),
            _ => self.chance.between(1_000, 10 * MINUTE_MS),
        }
    }

    /// The machine's clock is set. Forward, the machine slept: most of its connections are lost.
    pub(super) fn jump(&mut self, ms: i64) -> Step {
        self.timeline.jump(ms);
        self.timeline.after(self.chance.between(0, LOOK_MS), Event::Look);
        if ms < 0 {
            self.summary.jumps_back += 1;
        } else {
            self.summary.jumps_forward += 1;
            for replica in self.engines.keys() {
                if self.chance.strikes(600) {
                    self.break_connections(replica)?;
                }
            }
        }
        if self.life.is_some() {
            self.plan_promptness();
        }
        Ok(())
    }

    /// The service compares the clocks once a second; here only while they may differ.
    pub(super) async fn look(&mut self) -> Step {
        let followed = self.timeline.look();
        if self.timeline.is_apart() {
            self.timeline.after(LOOK_MS, Event::Look);
        }
        if self.life.is_none() {
            return Ok(());
        }
        self.expect_punctuality_after(0);
        let late_ms = self.chance.between(0, 1_000);
        self.plan_expirer(late_ms);
        self.plan_tick(1_000);
        match followed {
            Some(by_ms) => {
                self.plan_promptness();
                self.begin_duty(Duty::ClockFollower { by_ms }).await
            }
            None => Ok(()),
        }
    }
}
