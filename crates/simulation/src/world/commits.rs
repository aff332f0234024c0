//! The writer, driven by the world: when a group is committed, and where the process dies.

use overnight_domain::scheduler::SchedulerCommand;
use overnight_runtime::scheduler::commands;
use overnight_store::CrashPoint;

use super::World;
use crate::broken::Step;
use crate::engines::Flight;
use crate::events::Event;
use crate::outcomes::Outcome;
use crate::tags::Tag;

/// Writes that arrive within this time join a group.
const GROUP_MS: i64 = 8;
const HEAR_MS: i64 = 20;
const HOUR_MS: i64 = 3_600_000;

impl World<'_> {
    /// Schedules a look at the writer's queue, if it is not empty.
    pub(super) fn plan_commit(&mut self) {
        let Some(life) = &mut self.life else { return };
        if life.commit.is_none() && life.store().writes_waiting() > 0 {
            let delay_ms = self.chance.between(0, GROUP_MS);
            life.commit = Some(self.timeline.after(delay_ms, Event::Commit));
        }
    }

    pub(super) async fn commit(&mut self) -> Step {
        let life = self.life()?;
        life.commit = None;
        if let Some(point) = life.crash_point.take() {
            return self.crash(point).await;
        }
        life.commit_next().await?;
        self.arrive_meanwhile().await?;
        let life = self.life()?;
        let outcomes = life.pending.go_on().await;
        let must_drain = life.drain_signals.is_none();
        self.summary.commits += 1;
        if must_drain {
            let delay_ms = self.chance.between(0, HEAR_MS);
            let slot = self.timeline.after(delay_ms, Event::DrainSignals);
            self.life()?.drain_signals = Some(slot);
        }
        for outcome in outcomes {
            self.conclude(outcome).await?;
        }
        self.look_at_cancels().await?;
        if self.life.as_ref().is_some_and(|life| !life.filling.is_empty()) {
            // New requests of a batch have its deadline, which may be the next one.
            self.plan_next_expiry().await?;
        }
        self.plan_commit();
        Ok(())
    }

    /// While a group is written, answers arrive, and are queued before the next calls of the group's callers.
    async fn arrive_meanwhile(&mut self) -> Step {
        let of_cancels = self.cancelling.iter().filter_map(|batch| self.oracle.batches.get(batch));
        let mut hasty: Vec<Tag> = of_cancels.flat_map(|facts| facts.requests.iter().copied()).collect();
        if self.chance.strikes(30) {
            hasty.extend(self.engines.requests());
        }
        for request in hasty {
            if let Some((replica, lease)) = self.engines.find(request)
                && self.chance.strikes(200)
            {
                self.answer(replica, &lease).await?;
            }
        }
        Ok(())
    }

    /// The process dies: with the next group if a point is given, otherwise now.
    pub(super) async fn plan_crash(&mut self, point: Option<CrashPoint>) -> Step {
        match (&mut self.life, point) {
            (Some(_), None) => return self.crash(CrashPoint::BeforeCommit).await,
            (Some(life), Some(point)) => life.crash_point = Some(point),
            (None, _) => {}
        }
        Ok(())
    }

    async fn crash(&mut self, point: CrashPoint) -> Step {
        let Some(life) = self.life.take() else { return Ok(()) };
        let crashes = match point {
            _ if life.store().writes_waiting() == 0 => &mut self.summary.crashes_idle,
            CrashPoint::BeforeCommit => &mut self.summary.crashes_before_commit,
            CrashPoint::AfterCommit => &mut self.summary.crashes_after_commit,
        };
        *crashes += 1;
        self.summary.fills_interrupted += u64::from(!life.filling.is_empty());
        self.summary.uploads_interrupted += life.uploads.len() as u64;
        life.crash(point).await?;
        self.fall(600);
        Ok(())
    }

    /// The process is stopped: leases that were not sent are released, and the queue is emptied.
    pub(super) async fn stop(&mut self) -> Step {
        let now = self.timeline.now();
        let Some(life) = &mut self.life else { return Ok(()) };
        let (drained, store): (Vec<SchedulerCommand>, _) = (life.scheduler.drain(now), life.store().clone());
        for command in drained.into_iter().filter(commands::is_for_store) {
            let store = store.clone();
            let operation = async move {
                let answer = commands::perform(&store, command.clone(), now).await;
                Outcome::Performed { command, answer }
            };
            self.begin(false, Box::pin(operation)).await?;
        }
        while !self.life()?.pending.is_empty() {
            let life = self.life()?;
            life.commit_next().await?;
            let outcomes = life.pending.go_on().await;
            for outcome in outcomes {
                self.conclude(outcome).await?;
            }
        }
        if let Some(life) = self.life.take() {
            life.crash(CrashPoint::AfterCommit).await?;
        }
        self.summary.restarts += 1;
        self.fall(300);
        Ok(())
    }

    /// Handles what the process left: its engines may still answer, and late writes under its leases may follow.
    fn fall(&mut self, haunting: i64) {
        self.leases.end_all();
        self.unpaid.clear();
        self.couriers.fall();
        let unheard = self.oracle.lose_calls();
        self.timeline.retain(|event| !event.is_of_process());
        let flights: Vec<Flight> =
            self.engines.keys().into_iter().flat_map(|replica| self.engines.empty(replica)).collect();
        let down_ms = self.draw_down_ms();
        for flight in &flights {
            let up_to = if self.chance.strikes(700) { 30_000 } else { 3 * HOUR_MS };
            self.haunt(flight, haunting, down_ms + up_to);
        }
        self.timeline.after(down_ms, Event::Start);
        self.plan_repeats_of_unheard(down_ms, &unheard);
    }

    fn draw_down_ms(&mut self) -> i64 {
        match self.chance.between(0, 99) {
            _ if self.plan.is_calm || self.is_draining => self.chance.between(0, 60_000),
            0 | 1 => self.chance.between(24 * HOUR_MS, 26 * HOUR_MS),
            2..=4 => self.chance.between(HOUR_MS, 12 * HOUR_MS),
            5..=15 => self.chance.between(60_000, HOUR_MS),
            _ => self.chance.between(0, 60_000),
        }
    }
}
