//! A random world: a store and engines that are slow, fail, die, and lose answers, driven event by event.

mod faults;
mod processes;

use std::collections::{BTreeMap, BTreeSet};

use super::super::leases_held::Mark;
use super::super::random::Random;
use super::super::*;
use super::store::{End, Store};
use super::{candidate, partition, replica};
use faults::probed;
pub(super) use faults::{Fault, Scope};
use processes::Process;

/// Deadlines are after this time, within this span.
const FAR_MS: i64 = 864_000_000;
const DEADLINES_MS: i64 = 3_600_000;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Luck {
    pub(super) error: i64,
    pub(super) undone: i64,
    pub(super) lost: i64,
    pub(super) cancel: i64,
}

#[derive(Debug)]
enum Event {
    Tell(SchedulerInput),
    Perform(SchedulerCommand),
    Answer { replica: ReplicaKey, seq: i64 },
    Cancel(i64),
}

#[derive(Debug, Default)]
struct Engine {
    limit: usize,
    running: BTreeMap<i64, Lease>,
    down_until: i64,
    process: Option<Process>,
}

#[derive(Debug)]
pub(super) struct World {
    pub(super) scheduler: Scheduler,
    pub(super) store: Store,
    pub(super) random: Random,
    pub(super) luck: Luck,
    pub(super) poison: BTreeSet<i64>,
    /// The engines' fault, and the requests that it strikes.
    pub(super) fault: Option<Fault>,
    pub(super) window_ms: i64,
    pub(super) pauses: usize,
    /// How often an engine died of poison.
    pub(super) deaths: usize,
    pub(super) charged: BTreeSet<i64>,
    pub(super) ended_order: Vec<i64>,
    pub(super) leases: usize,
    /// Requests and probes that reached a replica, with their times: a probe has number 0.
    pub(super) sent: Vec<(ReplicaKey, i64, i64)>,
    pub(super) now: i64,
    /// The times that engines named to requests with a `Retry-After`.
    named_times: BTreeMap<i64, i64>,
    engines: BTreeMap<ReplicaKey, Engine>,
    hours: BTreeMap<ReplicaKey, EngineHours>,
    is_on_one_device: bool,
    events: BTreeMap<(i64, u64), Event>,
    serial: u64,
    wake_at: Option<i64>,
    tick_at: i64,
}

impl World {
    pub(super) fn new(seed: u64, limits: &[u32], luck: Luck) -> Self {
        let mut world = Self {
            scheduler: Scheduler::new(Settings::default(), seed),
            store: Store::default(),
            random: Random::new(seed ^ 0xabcd),
            luck,
            poison: BTreeSet::new(),
            fault: None,
            window_ms: FAR_MS,
            pauses: 0,
            deaths: 0,
            charged: BTreeSet::new(),
            ended_order: Vec::new(),
            leases: 0,
            sent: Vec::new(),
            now: 1_000,
            named_times: BTreeMap::new(),
            engines: BTreeMap::new(),
            hours: BTreeMap::new(),
            is_on_one_device: false,
            events: BTreeMap::new(),
            serial: 0,
            wake_at: None,
            tick_at: 1_000,
        };
        let list: Vec<_> = (1..).zip(limits).map(|(key, limit)| replica(key, *limit)).collect();
        for config in &list {
            let limit = usize::try_from(config.max_concurrency).unwrap();
            world.engines.insert(config.key, Engine { limit, ..Engine::default() });
        }
        world.tell(SchedulerInput::Replicas(list));
        world
    }

    /// Some deadlines are in danger, however far away they are.
    pub(super) fn endanger_deadlines(&mut self) {
        self.scheduler.settings.deadline_guard_ms = FAR_MS + DEADLINES_MS / 2;
    }

    pub(super) fn enqueue(&mut self, account: i64, seqs: std::ops::Range<i64>, cost: i64) {
        let (partition, count) = (partition(account), seqs.end - seqs.start);
        for seq in seqs {
            let mut seen = candidate(seq);
            seen.cost = cost;
            seen.deadline = self.window_ms + self.random.up_to(DEADLINES_MS);
            self.store.insert(partition, seen);
            if self.strikes(self.luck.cancel) {
                let at = self.random.up_to(5_000);
                self.later(at, Event::Cancel(seq));
            }
        }
        let added = vec![Backlog { partition, count }];
        self.tell(SchedulerInput::Released { added, next_ready_at: None });
    }

    /// In `ms`, only these replicas are left in the list.
    pub(super) fn keep_replicas(&mut self, ms: i64, keys: &[u32]) {
        let limit = |key: &u32| u32::try_from(self.engines[&ReplicaKey(*key)].limit).unwrap();
        let list = keys.iter().map(|key| replica(*key, limit(key))).collect();
        self.later(ms, Event::Tell(SchedulerInput::Replicas(list)));
    }

    /// Changes the first replica of the list.
    pub(super) fn change_first(&mut self, change: impl FnOnce(&mut Replica)) {
        let limit = |engine: &Engine| u32::try_from(engine.limit).unwrap();
        let mut list: Vec<_> =
            self.engines.iter().map(|(key, engine)| replica(key.0, limit(engine))).collect();
        change(&mut list[0]);
        self.tell(SchedulerInput::Replicas(list));
    }

    /// In `ms`, the first replica reports so many running and waiting requests in addition to ours.
    pub(super) fn tell_load(&mut self, ms: i64, of_others: i64, waiting: i64) {
        let load = EngineLoad { running: of_others, waiting, cache_permille: 0, preemptions: 0 };
        self.later(ms, Event::Tell(SchedulerInput::Load { replica: ReplicaKey(1), load }));
    }

    /// In `ms`, a replica opens or closes for `lasts_ms`.
    pub(super) fn set_hours(&mut self, ms: i64, key: u32, is_open: bool, lasts_ms: i64) {
        let until = Some(self.now + ms + lasts_ms);
        let hours = EngineHours { is_open, until, is_open_for_deadlines: true };
        self.later(ms, Event::Tell(SchedulerInput::Hours { replica: ReplicaKey(key), hours }));
    }

    /// Runs until the queue is empty, or for `ms` at most; returns whether it is empty.
    pub(super) fn run(&mut self, ms: i64) -> bool {
        let until = self.now + ms;
        while !self.store.rows.is_empty() && self.now < until {
            self.step();
        }
        self.store.rows.is_empty()
    }

    /// Time passes, with whatever is under way.
    pub(super) fn idle(&mut self, ms: i64) {
        let until = self.now + ms;
        while self.now < until {
            self.step();
        }
    }

    /// After some time, no ended request is remembered.
    #[track_caller]
    pub(super) fn assert_nothing_left(&mut self, ms: i64, seed: impl std::fmt::Display) {
        self.idle(ms);
        assert!(self.scheduler.is_idle() && self.scheduler.models.is_empty(), "seed {seed}: a leak");
    }

    fn strikes(&mut self, per_thousand: i64) -> bool {
        self.random.up_to(999) < per_thousand
    }

    fn later(&mut self, ms: i64, event: Event) {
        self.serial += 1;
        self.events.insert((self.now + ms, self.serial), event);
    }

    fn step(&mut self) {
        let tick_at = self.wake_at.map_or(self.tick_at, |at| at.min(self.tick_at));
        match self.events.first_entry() {
            Some(entry) if entry.key().0 <= tick_at => {
                self.now = entry.key().0;
                match entry.remove() {
                    Event::Tell(input) => self.tell(input),
                    Event::Perform(command) => self.perform(command),
                    Event::Answer { replica, seq } => self.answer(replica, seq),
                    Event::Cancel(seq) => {
                        self.store.finish(seq, End::Cancelled);
                        self.tell(SchedulerInput::Ended { seqs: vec![seq] });
                    }
                }
            }
            _ => {
                self.now = self.now.max(tick_at);
                self.wake_at = self.wake_at.filter(|at| *at > self.now);
                self.tick_at = self.tick_at.max(self.now) + i64::from(self.tick_at <= self.now) * 1_000;
                self.tell(SchedulerInput::Tick);
            }
        }
    }

    fn tell(&mut self, input: SchedulerInput) {
        if let SchedulerInput::Hours { replica, hours } = input {
            self.hours.insert(replica, hours);
        }
        self.note_process(&input);
        let mut wakes = 0;
        for command in self.scheduler.on(input, self.now) {
            match command {
                SchedulerCommand::WakeAt { at } => {
                    assert!(at > self.now && self.wake_at != Some(at));
                    self.wake_at = Some(at);
                    wakes += 1;
                }
                SchedulerCommand::Send { replica, lease } => self.send(replica, lease),
                SchedulerCommand::Abort { seq } => self.engines.values_mut().for_each(|engine| {
                    engine.running.remove(&seq);
                }),
                SchedulerCommand::Pause { .. } => self.pauses += 1,
                SchedulerCommand::Resume { .. } => {}
                SchedulerCommand::Start { replica, order } => self.start(replica, order),
                SchedulerCommand::Stop { replica, order } => self.stop(replica, order),
                command => {
                    if let SchedulerCommand::Probe { replica, .. } = command {
                        self.sent.push((replica, self.now, 0));
                    }
                    let delay = self.random.up_to(5);
                    self.later(delay, Event::Perform(command));
                }
            }
        }
        assert!(wakes <= 1);
    }

    fn perform(&mut self, command: SchedulerCommand) {
        let is_read = matches!(
            command,
            SchedulerCommand::Scan { .. }
                | SchedulerCommand::CountDeadlines { .. }
                | SchedulerCommand::Release { .. }
                | SchedulerCommand::Probe { .. }
        );
        if is_read && self.strikes(self.luck.lost) {
            return;
        }
        if self.strikes(self.luck.undone) {
            return self.tell(SchedulerInput::Undone(command));
        }
        let answer = match command {
            SchedulerCommand::Release { .. } => {
                SchedulerInput::Released { added: vec![], next_ready_at: None }
            }
            SchedulerCommand::Scan { .. } => self.store.scan(command, self.now),
            SchedulerCommand::CountDeadlines { .. } => self.store.count_deadlines(&command, self.now),
            SchedulerCommand::Lease { .. } => {
                self.leases += 1;
                self.store.lease(command, self.now)
            }
            SchedulerCommand::CountUse(used) => self.store.count_use(used),
            SchedulerCommand::ReleaseLease { lease, retry_at, attempt, suspect, .. } => {
                self.charged.extend(attempt.iter().map(|_| lease.key.position.seq));
                return self.store.release_lease(&lease, retry_at, &Mark { attempt, suspect });
            }
            SchedulerCommand::Fail { lease, code, .. } => {
                self.store.settle(&lease, End::Failed(code.as_str()));
                return;
            }
            SchedulerCommand::Probe { replica, .. } => {
                let is_up = self.engines[&replica].down_until <= self.now;
                let outcome = match self.draw_fault(None) {
                    Some(error) => probed(error),
                    None if is_up => ProbeOutcome::Healthy,
                    None => ProbeOutcome::Failed("refused".into()),
                };
                SchedulerInput::Probed { replica, outcome }
            }
            command => panic!("not to be performed: {command:?}"),
        };
        let delay = self.random.up_to(5);
        self.later(delay, Event::Tell(answer));
    }

    fn send(&mut self, key: ReplicaKey, lease: Lease) {
        let seq = lease.key.position.seq;
        if self.strikes(self.luck.undone) {
            let unread = match self.random.up_to(1) {
                0 => SchedulerInput::Unread(lease),
                _ => SchedulerInput::Undone(SchedulerCommand::Send { replica: key, lease }),
            };
            return self.later(0, Event::Tell(unread));
        }
        assert!(
            self.hours.get(&key).is_none_or(|it| it.is_open_at(self.now)),
            "{key:?} is outside its hours"
        );
        assert!(self.engines[&key].process.is_none_or(|it| it == Process::Ready), "{key:?} does not run");
        let flying = self.engines.values().flat_map(|engine| engine.running.keys());
        assert!(flying.into_iter().all(|it| *it != seq), "{seq} is in flight twice");
        let named = self.named_times.get(&seq);
        assert!(
            named.is_none_or(|at| *at <= self.now),
            "{seq} is sent before the time that the engine named"
        );
        self.sent.push((key, self.now, seq));
        let delay = 20 + self.random.up_to(200);
        let engine = self.engines.get_mut(&key).unwrap();
        engine.running.insert(seq, lease);
        assert!(engine.running.len() <= engine.limit, "more in flight than {key:?} may have");
        self.later(delay, Event::Answer { replica: key, seq });
    }

    fn answer(&mut self, key: ReplicaKey, seq: i64) {
        let Some(lease) = self.engines.get_mut(&key).and_then(|it| it.running.remove(&seq)) else { return };
        if self.engines[&key].down_until > self.now {
            return self.fail(seq, AttemptError::Connect("refused".into()));
        }
        if self.poison.contains(&seq) {
            return self.kill(key, seq);
        }
        if let Some(error) = self.draw_fault(Some(seq)) {
            self.note_named_time(seq, &error);
            return self.fail(seq, error);
        }
        if self.strikes(self.luck.error) {
            let error = self.draw_error();
            return self.fail(seq, error);
        }
        if self.store.settle(&lease, End::Completed) {
            self.ended_order.push(seq);
        }
        let cost = 1 + self.random.up_to(200);
        self.tell(SchedulerInput::Completed { seq, cost, tokens: cost });
    }

    fn kill(&mut self, key: ReplicaKey, seq: i64) {
        let engine = self.engines.get_mut(&key).unwrap();
        engine.down_until = self.now + 2_000;
        self.deaths += 1;
        let has_process = engine.process.is_some();
        let victims = std::mem::take(&mut engine.running);
        if has_process {
            let error = Some("it ended with signal 11".to_owned());
            let order = self.scheduler.last_order(key);
            self.tell(SchedulerInput::Stopped { replica: key, order, error });
        }
        for seq in victims.into_keys().chain([seq]) {
            self.fail(seq, AttemptError::Reset("died".into()));
        }
    }

    fn fail(&mut self, seq: i64, error: AttemptError) {
        if matches!(error, AttemptError::Connect(_))
            && let Some(index) = self.sent.iter().rposition(|(_, _, it)| *it == seq)
        {
            self.sent.remove(index);
        }
        self.tell(SchedulerInput::AttemptFailed { seq, error });
    }
}

pub(super) fn status(code: u16) -> AttemptError {
    AttemptError::Status { code, message: "words".into(), retry_after_ms: None }
}
