//! A desk for single cases: the store answers immediately, the engines only when the case says so.

use super::super::leases_held::Mark;
use super::super::*;
use super::store::{End, Store};
use super::{MODEL, candidate, partition, replica};

/// A scheduler, its store, and its commands to engines and messages to operators, in words.
pub(super) struct Desk {
    pub(super) scheduler: Scheduler,
    pub(super) store: Store,
    pub(super) now: i64,
    pub(super) said: Vec<String>,
    pub(super) sent: BTreeMap<i64, Lease>,
}

impl Desk {
    /// Replicas 1, 2, … with these limits, at time 1,000,000.
    pub(super) fn new(limits: &[u32]) -> Self {
        Self::with((1..).zip(limits).map(|(key, limit)| replica(key, *limit)).collect())
    }

    /// Replicas with these limits, and requests of account 1.
    pub(super) fn of(limits: &[u32], seqs: impl IntoIterator<Item = i64>) -> Self {
        let mut desk = Self::new(limits);
        desk.enqueue(1, seqs);
        desk
    }

    /// The same, with its messages already heard.
    pub(super) fn heard(limits: &[u32], seqs: impl IntoIterator<Item = i64>) -> Self {
        let mut desk = Self::of(limits, seqs);
        desk.hear();
        desk
    }

    /// At time 1,000,000.
    pub(super) fn with(list: Vec<Replica>) -> Self {
        let scheduler = Scheduler::new(Settings::default(), 7);
        let mut desk = Self {
            scheduler,
            store: Store::default(),
            now: 1_000_000,
            said: Vec::new(),
            sent: BTreeMap::new(),
        };
        desk.feed(SchedulerInput::Replicas(list));
        desk.said.clear();
        desk
    }

    pub(super) fn arrive(&mut self, partition: QueuePartition, seen: impl IntoIterator<Item = Candidate>) {
        let mut count = 0;
        for seen in seen {
            self.store.insert(partition, seen);
            count += 1;
        }
        let added = vec![Backlog { partition, count }];
        self.feed(SchedulerInput::Released { added, next_ready_at: None });
    }

    pub(super) fn enqueue(&mut self, account: i64, seqs: impl IntoIterator<Item = i64>) {
        self.arrive(partition(account), seqs.into_iter().map(candidate));
    }

    pub(super) fn enqueue_due(&mut self, account: i64, dues: impl IntoIterator<Item = (i64, i64)>) {
        self.enqueue_in(partition(account), dues);
    }

    pub(super) fn enqueue_in(&mut self, of: QueuePartition, dues: impl IntoIterator<Item = (i64, i64)>) {
        self.arrive(of, dues.into_iter().map(|(seq, deadline)| Candidate { deadline, ..candidate(seq) }));
    }

    pub(super) fn close(&mut self, replica: ReplicaKey, until: Option<i64>, is_open_for_deadlines: bool) {
        let hours = EngineHours { is_open: false, until, is_open_for_deadlines };
        self.feed(SchedulerInput::Hours { replica, hours });
    }

    /// The last order to start a replica was performed.
    pub(super) fn started(&mut self, replica: ReplicaKey) {
        let order = self.scheduler.last_order(replica);
        self.feed(SchedulerInput::Started { replica, order });
    }

    /// The process of a replica ended, by its last order or by itself.
    pub(super) fn stopped(&mut self, replica: ReplicaKey, error: Option<&str>) {
        let (order, error) = (self.scheduler.last_order(replica), error.map(str::to_owned));
        self.feed(SchedulerInput::Stopped { replica, order, error });
    }

    /// Feeds an input and answers everything that the store can answer, until no command is left.
    pub(super) fn feed(&mut self, input: SchedulerInput) {
        let mut inputs = vec![input];
        while let Some(input) = inputs.pop() {
            for command in self.scheduler.on(input, self.now) {
                inputs.extend(self.perform(command));
            }
        }
    }

    fn perform(&mut self, command: SchedulerCommand) -> Option<SchedulerInput> {
        let said = match command {
            SchedulerCommand::Release { .. } => {
                return Some(SchedulerInput::Released { added: vec![], next_ready_at: None });
            }
            SchedulerCommand::Scan { .. } => {
                return Some(self.store.scan(command, self.now));
            }
            SchedulerCommand::CountDeadlines { .. } => {
                return Some(self.store.count_deadlines(&command, self.now));
            }
            SchedulerCommand::Lease { .. } => return Some(self.store.lease(command, self.now)),
            SchedulerCommand::CountUse(used) => return Some(self.store.count_use(used)),
            SchedulerCommand::WakeAt { at } => {
                assert!(at > self.now);
                return None;
            }
            SchedulerCommand::Send { replica, lease } => {
                let seq = lease.key.position.seq;
                assert!(self.sent.insert(seq, lease).is_none());
                format!("send {seq} to {}", replica.0)
            }
            SchedulerCommand::Abort { seq } => {
                self.sent.remove(&seq);
                format!("abort {seq}")
            }
            SchedulerCommand::ReleaseLease { lease, retry_at, attempt, suspect, .. } => {
                let mut words = format!("release lease {}", lease.key.position.seq);
                words.push_str(if attempt.is_some() { " counted" } else { "" });
                self.store.release_lease(&lease, retry_at, &Mark { attempt, suspect });
                words.push_str(if suspect { " suspect" } else { "" });
                words
            }
            SchedulerCommand::Fail { lease, code, message, .. } => {
                self.store.settle(&lease, End::Failed(code.as_str()));
                format!("fail {} {}: {message}", lease.key.position.seq, code.as_str())
            }
            SchedulerCommand::Probe { replica, .. } => format!("probe {}", replica.0),
            SchedulerCommand::Pause { replica, reason, .. } => format!("pause {}: {reason}", replica.0),
            SchedulerCommand::Resume { replica, .. } => format!("resume {}", replica.0),
            SchedulerCommand::Start { replica, .. } => format!("start {}", replica.0),
            SchedulerCommand::Stop { replica, .. } => format!("stop {}", replica.0),
        };
        self.said.push(said);
        None
    }

    /// Time passes, with a tick every 100 ms.
    pub(super) fn wait(&mut self, ms: i64) {
        for _ in 0..ms / 100 {
            self.now += 100;
            self.feed(SchedulerInput::Tick);
        }
    }

    pub(super) fn complete(&mut self, seq: i64) {
        let lease = self.sent.remove(&seq).unwrap();
        assert!(self.store.settle(&lease, End::Completed));
        self.feed(SchedulerInput::Completed { seq, cost: 100, tokens: 100 });
    }

    pub(super) fn fail(&mut self, seq: i64, error: AttemptError) {
        self.sent.remove(&seq).unwrap();
        self.feed(SchedulerInput::AttemptFailed { seq, error });
    }

    pub(super) fn status(&mut self, seq: i64, code: u16) {
        self.fail(seq, AttemptError::Status { code, message: "words".into(), retry_after_ms: None });
    }

    pub(super) fn reset(&mut self, seq: i64) {
        self.fail(seq, AttemptError::Reset("broken pipe".into()));
    }

    pub(super) fn probed(&mut self, outcome: ProbeOutcome) {
        self.feed(SchedulerInput::Probed { replica: ReplicaKey(1), outcome });
    }

    /// The probe of replica 1 is answered as by a working engine.
    pub(super) fn probed_healthy(&mut self) {
        self.probed(ProbeOutcome::Healthy);
    }

    pub(super) fn probed_failed(&mut self) {
        self.probed(ProbeOutcome::Failed("no".into()));
    }

    /// Takes the messages since the last call.
    pub(super) fn hear(&mut self) -> Vec<String> {
        std::mem::take(&mut self.said)
    }

    pub(super) fn waiting(&self) -> i64 {
        self.scheduler.waiting(MODEL)
    }

    pub(super) fn flying(&self) -> Vec<i64> {
        self.sent.keys().copied().collect()
    }
}
