//! The shell around the scheduler: it executes commands and feeds inputs.
//!
//! One task owns the scheduler. Calls of the store and of engines run concurrently, and every answer returns as an input through one
//! channel.

mod reloading;
mod ticks;

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::FutureExt;
use overnight_app::{HEARD_EVERY_MS, Services, SweepQuestion, SweepState};
use overnight_base::supervision::Pulse;
use overnight_base::tasks;
use overnight_domain::scheduler::{
    DailyUse, Lease, ModelKey, ProbeOutcome, Replica, ReplicaKey, Scheduler, SchedulerCommand,
    SchedulerInput, Settings,
};
use overnight_engine_clients::Engines;
use overnight_store::StoreError;
use overnight_store::queue;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinHandle, JoinSet};

use super::attempts::Attempts;
use super::commands;
use super::hours::Hours;
use super::loads::Loads;
use super::processes;
use super::prompts::Prompts;
use super::replicas::Replicas;
use super::reports::Reports;
use super::sharing::{Heard, Sharing};
use super::subjects::Subjects;
use super::uses;

pub const NAME: &str = "scheduler";
/// The name of the concurrent commands' items.
const COMMANDS: &str = "scheduler_commands";

const INPUTS_AT_ONCE: usize = 256;
/// The limit for the store when the process ends.
const STORE_MS: i64 = 5_000;

/// Owns the scheduler, feeds it inputs and executes its commands.
pub struct Shell {
    services: Services,
    engines: Arc<Engines>,
    replicas: Arc<Replicas>,
    scheduler: Scheduler,
    prompts: Arc<Prompts>,
    subjects: Arc<Subjects>,
    attempts: Arc<Attempts>,
    settling: JoinHandle<()>,
    in_flight: HashMap<i64, AbortHandle>,
    /// Writes to the daily budgets of engines.
    counting: JoinSet<()>,
    /// `None` unless other nodes use the same database.
    sharing: Option<Sharing>,
    reports: Reports,
    loads: Loads,
    hours: Hours,
    wake_at: i64,
    pulse: Arc<Pulse>,
    is_draining: bool,
    inputs: mpsc::UnboundedReceiver<SchedulerInput>,
    answers: mpsc::UnboundedSender<SchedulerInput>,
}

impl Shell {
    /// A shell for `engines`, initialised with the store's waiting requests.
    pub async fn new(services: Services, engines: Arc<Engines>) -> Result<Self, StoreError> {
        let replicas = Arc::new(Replicas::new(&engines, services.models()));
        let seed = u64::from_le_bytes(first_eight(services.ids.random()));
        let (answers, inputs) = mpsc::unbounded_channel();
        let subjects = Arc::new(Subjects::new(services.store.clone()));
        let prompts = Arc::new(Prompts::new(services.store.clone(), Arc::clone(&subjects)));
        let of_attempts = (Arc::clone(&prompts), Arc::clone(&subjects));
        let (attempts, settling) = Attempts::begin(&services, of_attempts, answers.clone());
        let is_shared = services.store.is_shared();
        let sharing = is_shared.then(|| Sharing::new(services.clone(), replicas.shared_names()));
        let settings = Settings { is_shared, ..Settings::default() };
        let mut shell = Self {
            sharing,
            reports: Reports::new(services.clone()),
            loads: Loads::default(),
            hours: Hours::default(),
            attempts,
            settling,
            prompts,
            subjects,
            scheduler: Scheduler::new(settings, seed),
            in_flight: HashMap::new(),
            counting: JoinSet::new(),
            wake_at: i64::MAX,
            pulse: services.supervisor.pulse(NAME, false),
            is_draining: false,
            services,
            engines,
            replicas,
            inputs,
            answers,
        };
        shell.tell_hours();
        shell.feed(SchedulerInput::Replicas(shell.owned_replicas()));
        if !is_shared {
            let now = shell.services.clock.now();
            let (backlogs, delayed) = queue::backlogs(&shell.services.store, now).await?;
            shell.feed(SchedulerInput::Backlogs(backlogs));
            shell.feed(SchedulerInput::Delayed(delayed));
        }
        if let Some(ready_at) = queue::next_ready_at(&shell.services.store).await? {
            shell.feed(SchedulerInput::Gathering { ready_at });
        }
        shell.poll_shared_state();
        shell.publish_reports();
        shell.services.signals.set_scheduler(true);
        Ok(shell)
    }

    /// Schedules until `shutdown` ends. Then nothing is leased or sent, requests in flight may end within the configured time, and the
    /// remaining leases are released.
    pub async fn run(mut self, shutdown: impl Future<Output = ()>) {
        self.work_until(shutdown).await;
        let now = self.services.clock.now();
        self.is_draining = true;
        let (for_store, others): (Vec<_>, Vec<_>) =
            self.scheduler.drain(now).into_iter().partition(commands::is_for_store);
        others.into_iter().for_each(|command| self.act(command));
        let releases =
            for_store.into_iter().map(|command| commands::perform(&self.services.store, command, now));
        let clock = Arc::clone(&self.services.clock);
        tokio::select! {
            _ = futures_util::future::join_all(releases) => {}
            () = clock.sleep_until(now + self.services.drain_ms() + STORE_MS) => {}
        }
        self.work_until(clock.sleep_until(now + self.services.drain_ms())).await;
        self.stop().await;
    }

    /// Works until `end` ends, or a drain is complete.
    async fn work_until(&mut self, end: impl Future<Output = ()>) {
        tokio::pin!(end);
        let clock = Arc::clone(&self.services.clock);
        let signals = Arc::clone(&self.services.signals);
        let mut batch = Vec::with_capacity(INPUTS_AT_ONCE);
        let mut tick_at = i64::MAX;
        while !(self.is_draining && self.scheduler.is_idle()) {
            self.pulse.turn();
            // However many inputs there are, and even if the clock is set back, a tick comes within a second.
            tick_at = tick_at.min(clock.now() + HEARD_EVERY_MS);
            let wake = clock.sleep_until(self.wake_at.min(tick_at));
            tokio::select! {
                () = &mut end => break,
                count = self.inputs.recv_many(&mut batch, INPUTS_AT_ONCE) => {
                    if count == 0 {
                        break;
                    }
                    batch.drain(..).for_each(|input| self.feed(input));
                }
                heard = heard(&mut self.sharing) => self.take(heard),
                () = signals.rung() => {}
                () = wake => {
                    self.tick();
                    tick_at = i64::MAX;
                }
            }
            self.drain_signals();
        }
    }

    fn drain_signals(&mut self) {
        let news = self.services.signals.take();
        if news.are_engines_changed {
            self.replace_replicas();
        }
        if let Some(ready_at) = news.gathering_until {
            self.feed(SchedulerInput::Gathering { ready_at });
        }
        if !news.ended.is_empty() {
            self.notify_other_nodes();
            self.feed(SchedulerInput::Ended { seqs: news.ended });
        }
        for SweepQuestion { partition, answer } in news.questions {
            let segments = self.scheduler.swept_segments(partition);
            let portion = self.scheduler.portion(partition);
            let paces = self.scheduler.paces(partition.model).collect();
            let least_slot_ms = self.scheduler.least_slot_ms(partition.model);
            let _ = answer.send(SweepState { segments, portion, paces, least_slot_ms });
        }
    }

    fn notify_other_nodes(&mut self) {
        if let Some(sharing) = &mut self.sharing {
            sharing.tell();
        }
    }

    fn poll_shared_state(&mut self) {
        let Some(sharing) = &mut self.sharing else { return };
        let (replicas, scheduler) = (&self.replicas, &self.scheduler);
        let has_run_out = |name: &str| !replicas.find_shared(name).any(|key| scheduler.is_driven(key));
        sharing.ask(scheduler.leases().cloned().collect(), has_run_out);
    }

    fn take(&mut self, heard: Heard) {
        let polled = match heard {
            Heard::Hint => return self.poll_shared_state(),
            Heard::Answer(polled) => polled,
        };
        let (Some(polled), Some(sharing)) = (polled, &mut self.sharing) else { return };
        if sharing.take(&polled) {
            self.feed(SchedulerInput::Replicas(self.owned_replicas()));
        }
        polled.inputs.into_iter().for_each(|input| self.feed(input));
    }

    /// The replicas that only this process sends to.
    fn owned_replicas(&self) -> Vec<Replica> {
        self.replicas.list().into_iter().filter(|replica| self.is_driven(replica)).collect()
    }

    fn is_driven(&self, replica: &Replica) -> bool {
        match (&self.sharing, self.replicas.shared_name(replica.key)) {
            (Some(sharing), Some(name)) => sharing.drives(name),
            _ => true,
        }
    }

    fn feed(&mut self, input: SchedulerInput) {
        match &input {
            SchedulerInput::Leased { replica, leases, .. } if !leases.is_empty() => {
                let engine = self.replicas.name(*replica).to_owned();
                metrics::histogram!("overnight_run_length_requests", "engine" => engine)
                    .record(leases.len() as f64);
            }
            SchedulerInput::Completed { seq, .. } | SchedulerInput::AttemptFailed { seq, .. } => {
                self.in_flight.remove(seq);
            }
            SchedulerInput::Ended { seqs } => seqs.iter().for_each(|seq| self.prompts.forget(*seq)),
            SchedulerInput::Lost(leases) => {
                leases.iter().for_each(|lease| self.prompts.forget(lease.key.position.seq));
            }
            SchedulerInput::Released { added, .. } if !added.is_empty() => self.notify_other_nodes(),
            _ => {}
        }
        let now = self.services.clock.now();
        for command in self.scheduler.on(input, now) {
            self.act(command);
        }
    }

    fn act(&mut self, command: SchedulerCommand) {
        match command {
            SchedulerCommand::Send { replica, lease } => self.send(replica, lease),
            SchedulerCommand::Abort { seq } => {
                self.prompts.forget(seq);
                if let Some(handle) = self.in_flight.remove(&seq) {
                    handle.abort();
                }
            }
            SchedulerCommand::Probe { replica, model } => self.probe(replica, model),
            SchedulerCommand::Start { replica, order } => {
                processes::start(replica, order, &self.replicas, &self.services, &self.answers);
            }
            SchedulerCommand::Stop { replica, order } => {
                processes::stop(replica, order, &self.replicas, &self.services, &self.answers);
            }
            SchedulerCommand::Pause { replica, model, until, reason } => {
                let (replica, model) = (self.replicas.name(replica), self.replicas.model_name(model));
                let pause_ms = until - self.services.clock.now();
                tracing::error!(replica, model, pause_ms, reason, "engine replica paused");
            }
            SchedulerCommand::Resume { replica, model } => {
                let (replica, model) = (self.replicas.name(replica), self.replicas.model_name(model));
                tracing::info!(replica, model, "engine replica resumed");
            }
            SchedulerCommand::WakeAt { at } => self.wake_at = at,
            SchedulerCommand::CountUse(used) => self.count_use(used),
            command => self.ask_store(command),
        }
    }

    fn ask_store(&self, mut command: SchedulerCommand) {
        debug_assert!(commands::is_for_store(&command), "every other command has its own arm");
        let subject = self.prompts.let_go(&command);
        if let SchedulerCommand::ReleaseLease { replica, attempt: Some(attempt), .. }
        | SchedulerCommand::Fail { replica, attempt, .. } = &mut command
        {
            attempt.engine = Some(self.replicas.name(*replica).to_owned());
        }
        let (services, answers) = (self.services.clone(), self.answers.clone());
        let (prompts, subjects) = (Arc::clone(&self.prompts), Arc::clone(&self.subjects));
        tasks::spawn(async move {
            let (now, undone) = (services.clock.now(), command.clone());
            let performing = async {
                match subject {
                    Some(subject) => subjects.perform(&services, command, subject, now).await,
                    None => commands::perform(&services.store, command, now).await,
                }
            };
            let told = services.supervisor.item(COMMANDS, commands::name(&undone), performing).await;
            let Some(input) = told.unwrap_or(Some(SchedulerInput::Undone(undone))) else { return };
            if let SchedulerInput::Leased { leases, .. } = &input {
                _ = services.supervisor.item(COMMANDS, "prompts of a run", prompts.fetch(leases)).await;
            }
            let _ = answers.send(input);
        });
    }

    fn count_use(&mut self, used: DailyUse) {
        while self.counting.try_join_next().is_some() {}
        let name = self.replicas.name(used.replica).to_owned();
        let (services, answers) = (self.services.clone(), self.answers.clone());
        self.counting.spawn(
            async move {
                let counting = uses::count(&services.store, name, used);
                let counted = services.supervisor.item(COMMANDS, "use of an engine", counting).await;
                let undone = SchedulerInput::Undone(SchedulerCommand::CountUse(used));
                if let Some(input) = counted.unwrap_or(Some(undone)) {
                    let _ = answers.send(input);
                }
            }
            .boxed(),
        );
    }

    fn send(&mut self, replica: ReplicaKey, lease: Lease) {
        let seq = lease.key.position.seq;
        let task = tokio::spawn(Arc::clone(&self.attempts).run(Arc::clone(&self.replicas), replica, lease));
        self.in_flight.insert(seq, task.abort_handle());
    }

    fn probe(&self, replica: ReplicaKey, model: ModelKey) {
        let (replicas, answers) = (Arc::clone(&self.replicas), self.answers.clone());
        let supervisor = Arc::clone(&self.services.supervisor);
        tasks::spawn(async move {
            let probed =
                supervisor.item("probe", replicas.name(replica), replicas.probe(replica, model)).await;
            let outcome =
                probed.unwrap_or_else(|panic| ProbeOutcome::Failed(format!("the probe panicked at {panic}")));
            let _ = answers.send(SchedulerInput::Probed { replica, outcome });
        });
    }

    async fn stop(mut self) {
        self.services.signals.set_scheduler(false);
        for (_, handle) in self.in_flight.drain() {
            handle.abort();
        }
        for used in self.scheduler.take_unwritten_uses() {
            self.count_use(used);
        }
        drop(self.attempts);
        let clock = Arc::clone(&self.services.clock);
        tokio::select! {
            _ = futures_util::future::join(self.settling, self.counting.join_all()) => {}
            () = clock.sleep_until(clock.now() + STORE_MS) => {
                tracing::warn!("store unavailable at shutdown; last results not stored, their requests run again");
            }
        }
    }
}

/// The next answer of the other nodes; pending if there are none.
async fn heard(sharing: &mut Option<Sharing>) -> Heard {
    match sharing {
        Some(sharing) => sharing.heard().await,
        None => std::future::pending().await,
    }
}

fn first_eight(bytes: [u8; 32]) -> [u8; 8] {
    let mut first = [0; 8];
    first.copy_from_slice(&bytes[..8]);
    first
}
