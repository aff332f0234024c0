//! The shell around the scheduler in virtual time, with events instead of tasks and channels.
//!
//! The service ticks each second. Here the time between two ticks doubles up to a minute while nothing happens, and there are no ticks
//! while nothing waits or runs. Any event, and each wake time of the scheduler, ends the wait.

use overnight_domain::scheduler::{Lease, ReplicaKey, SchedulerCommand, SchedulerInput};
use overnight_runtime::scheduler::commands;
use overnight_store::queue;
use overnight_store::queue::expiry;

use super::World;
use crate::broken::{Broken, Step, ensure};
use crate::engines::Flight;
use crate::events::Event;
use crate::outcomes::Outcome;
use crate::texts;

/// Inputs reach the scheduler within this time.
pub(super) const TELL_MS: i64 = 5;

impl World<'_> {
    /// Tells a new scheduler the initial state, as the shell does at its start.
    pub(super) async fn begin_scheduling(&mut self) -> Step {
        let replicas = self.replicas.clone();
        let store = self.life()?.store().clone();
        self.tell(SchedulerInput::Replicas(replicas)).await?;
        let (backlogs, delayed) = queue::backlogs(&store, self.timeline.now()).await?;
        self.tell(SchedulerInput::Backlogs(backlogs)).await?;
        self.tell(SchedulerInput::Delayed(delayed)).await?;
        if let Some(ready_at) = queue::next_ready_at(&store).await? {
            self.tell(SchedulerInput::Gathering { ready_at }).await?;
        }
        Ok(())
    }

    pub(super) async fn tick(&mut self) -> Step {
        let (now, replicas) = (self.timeline.now(), self.replicas.clone());
        let life = self.life()?;
        life.tick = None;
        if life.wake_at <= now {
            life.wake_at = i64::MAX;
        }
        let commands = life.scheduler.on(SchedulerInput::Tick, now);
        if !commands.is_empty() {
            self.note(format_args!("tick: {commands:?}"));
        }
        self.act(commands).await?;
        let life = self.life()?;
        let is_quiet = life.is_idle(&replicas) && expiry::next_deadline(life.store()).await?.is_none();
        let rest_ms = life.rest_ms();
        if !is_quiet {
            self.plan_tick(rest_ms);
        }
        Ok(())
    }

    pub(super) async fn drain_signals(&mut self) -> Step {
        let life = self.life()?;
        life.drain_signals = None;
        let news = life.services.signals.take();
        if let Some(ready_at) = news.gathering_until {
            self.tell(SchedulerInput::Gathering { ready_at }).await?;
        }
        if !news.ended.is_empty() {
            self.tell(SchedulerInput::Ended { seqs: news.ended }).await?;
        }
        Ok(())
    }

    pub(super) async fn tell(&mut self, input: SchedulerInput) -> Step {
        let now = self.timeline.now();
        self.trace.note(self.timeline.elapsed(), format_args!("{input:?}"));
        let life = self.life()?;
        life.stir();
        let commands = life.scheduler.on(input, now);
        if !commands.is_empty() {
            self.note(format_args!("asks {commands:?}"));
        }
        self.act(commands).await?;
        self.plan_tick(0);
        Ok(())
    }

    async fn act(&mut self, commands: Vec<SchedulerCommand>) -> Step {
        for command in commands {
            match command {
                SchedulerCommand::Send { replica, lease } => self.send(replica, lease).await?,
                SchedulerCommand::Abort { seq } => {
                    self.life()?.prompts.remove(&seq);
                    if let Some(flight) = self.engines.abort(seq) {
                        self.haunt(&flight, 200, 5_000);
                    }
                }
                SchedulerCommand::Probe { replica, .. } => self.probe(replica),
                SchedulerCommand::Pause { .. } => self.summary.pauses += 1,
                SchedulerCommand::Resume { .. } => {}
                SchedulerCommand::WakeAt { at } => self.life()?.wake_at = at,
                command => self.ask_store(command).await?,
            }
        }
        Ok(())
    }

    async fn ask_store(&mut self, command: SchedulerCommand) -> Step {
        ensure!(commands::is_for_store(&command), "a command that nobody performs: {command:?}");
        let is_away = !self.is_draining && self.chance.strikes(3);
        let delay_ms = self.chance.between(0, TELL_MS);
        if is_away {
            self.timeline.after(delay_ms, Event::Tell(SchedulerInput::Undone(command)));
            return Ok(());
        }
        let now = self.timeline.now();
        let life = self.life()?;
        if let SchedulerCommand::ReleaseLease { lease, .. } | SchedulerCommand::Fail { lease, .. } = &command
        {
            life.prompts.remove(&lease.key.position.seq);
        }
        let store = life.store().clone();
        let operation = async move {
            let answer = commands::perform(&store, command.clone(), now).await;
            Outcome::Performed { command, answer }
        };
        self.begin(false, Box::pin(operation)).await
    }

    async fn send(&mut self, replica: ReplicaKey, lease: Lease) -> Step {
        let seq = lease.key.position.seq;
        let timeout_ms = self.plan.request_timeout_ms;
        if !self.is_draining && self.chance.strikes(3) {
            self.timeline
                .after(1, Event::Tell(SchedulerInput::Undone(SchedulerCommand::Send { replica, lease })));
            return Ok(());
        }
        let life = self.life()?;
        let prompt = match life.prompts.remove(&seq) {
            Some(prompt) => Some(prompt),
            None => queue::find_prompt(life.store(), seq).await?,
        };
        ensure!(prompt.is_some(), "the prompt of seq {seq} is gone");
        let Some(prompt) = prompt else { return Ok(()) };
        // A line's identifier is in the records of its batch, which may not have been read yet.
        let request = texts::tag_of_prompt(&prompt.body);
        let request = request.ok_or_else(|| Broken(format!("{} is sent with another body", prompt.id)))?;
        self.oracle.name(prompt.id, request)?;
        ensure!(
            prompt.body == self.oracle.request(request)?.prompt.as_bytes(),
            "request {request} is sent with another body"
        );
        self.engines.send(replica, Flight { lease: lease.clone(), request })?;
        let latency_ms = self.engines.draw_latency_ms(replica, timeout_ms, &mut self.chance);
        self.timeline.after(latency_ms, Event::Answer { replica, lease });
        Ok(())
    }

    fn probe(&mut self, replica: ReplicaKey) {
        // Sometimes a probe is never answered.
        if self.is_draining || !self.chance.strikes(20) {
            let outcome = self.engines.probe(replica);
            let latency_ms = self.chance.between(1, 3_000);
            self.timeline.after(latency_ms, Event::Tell(SchedulerInput::Probed { replica, outcome }));
        }
    }

    pub(super) fn plan_tick(&mut self, rest_ms: i64) {
        let now = self.timeline.now();
        let Some(life) = &mut self.life else { return };
        let rest_ms = if rest_ms == 0 { life.rest_ms() } else { rest_ms };
        let wake_ms = life.wake_at.saturating_sub(now);
        if let Some(slot) = life.tick.take() {
            self.timeline.cancel(slot);
        }
        life.tick = Some(self.timeline.after(rest_ms.min(wake_ms), Event::Tick));
    }
}
