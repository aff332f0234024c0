//! Once a second.

use overnight_domain::scheduler::{Replica, SchedulerInput};

use super::Shell;
use crate::scheduler::{gauges, reports};

impl Shell {
    pub(super) fn tick(&mut self) {
        if self.wake_at <= self.services.clock.now() {
            self.wake_at = i64::MAX;
        }
        self.tell_hours();
        self.dismiss_left();
        self.feed(SchedulerInput::Tick);
        self.poll_shared_state();
        self.ask_loads();
        let is_driven = |replica: &Replica| self.is_driven(replica);
        gauges::set(&self.scheduler, &self.replicas, is_driven, &self.services);
        self.publish_reports();
    }

    /// Tells the scheduler which engines open or close.
    pub(super) fn tell_hours(&mut self) {
        let news = self.hours.news(&self.replicas, self.services.clock.now());
        news.into_iter().for_each(|input| self.feed(input));
    }

    /// Asks the load of working engines, and of those that other nodes may use; of the others until they report once, to learn the sizes of
    /// their caches.
    fn ask_loads(&mut self) {
        let now = self.services.clock.now();
        for replica in self.replicas.list() {
            let is_open = || {
                self.is_driven(&replica)
                    && self.scheduler.closed_until(replica.key).is_none()
                    && self.scheduler.is_running(replica.key)
            };
            let is_colocated = replica.colocated_percent.is_some();
            let is_idle = self.scheduler.in_flight(replica.key) == 0;
            let is_new = !self.loads.has_told(replica.key);
            if !is_idle || (is_colocated || is_new) && is_open() {
                self.loads.ask(&replica, is_idle, &self.replicas, &self.answers, now);
            }
        }
    }

    pub(super) fn publish_reports(&mut self) {
        let now = self.services.clock.now();
        let state = |replica: &Replica| {
            reports::state_of(replica, self.is_driven(replica), &self.replicas, &self.scheduler, now)
        };
        let engines = self.replicas.list().iter().map(state).collect();
        self.reports.tell(engines);
    }
}
