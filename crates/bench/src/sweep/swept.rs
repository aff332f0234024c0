//! The service's own order: the real scheduler and the real sort keys, over a queue in memory whose reads and commits take as
//! long as a store's.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use overnight_domain::json;
use overnight_domain::scheduler::{
    AccountKey, Backlog, Candidate, EngineLoad, Lease, ModelKey, Position, QueueKey, QueuePartition, Replica,
    ReplicaKey, Scheduler, SchedulerCommand, SchedulerInput, Settings,
};
use overnight_domain::sort_key::SortKey;

use overnight_testkit::engine::ModelStats;

use super::fleet::{Dispatcher, Event, Work};
use super::workload::Request;

const MODEL: ModelKey = ModelKey(1);
/// What a read of the queue takes, in microseconds.
const SCAN_US: u64 = 1_000;
/// What a commit takes.
const COMMIT_US: u64 = 4_000;
/// The scheduler's clock begins here, in milliseconds.
const EPOCH_MS: i64 = 1_000_000;
/// How often the shell ticks at least.
const TICK_US: u64 = 1_000_000;
const TICK: u64 = 0;
const WAKE: u64 = 1;
/// What the settings' defaults are.
const FIRST_CONCURRENCY: u32 = 64;
const MAX_CONCURRENCY: u32 = 1_024;
const SECRET: [u8; 32] = [7; 32];

/// How many requests an engine is sent at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    /// Always so many.
    Told(u32),
    /// As the scheduler finds out, from the load that engines tell or from what they complete.
    Untold { tells_load: bool },
}

/// The scheduler and its queue.
#[derive(Debug)]
pub(super) struct Swept {
    scheduler: Scheduler,
    replicas: Vec<Replica>,
    waiting: BTreeMap<QueuePartition, BTreeMap<Position, Candidate>>,
    costs: Vec<i64>,
    answers: HashMap<u64, SchedulerInput>,
    next_answer: u64,
    tells_load: bool,
}

impl Swept {
    pub(super) fn new(requests: &[Request], replicas: usize, limit: Limit) -> Self {
        let keys = 0..u32::try_from(replicas).unwrap_or(u32::MAX);
        let (first_concurrency, max_concurrency) = match limit {
            Limit::Told(most) => (most, most),
            Limit::Untold { .. } => (FIRST_CONCURRENCY, MAX_CONCURRENCY),
        };
        let replicas = keys.map(|key| Replica {
            key: ReplicaKey(key),
            models: vec![MODEL],
            max_concurrency,
            first_concurrency,
        });
        let mut waiting: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        let mut costs = Vec::with_capacity(requests.len());
        for (seq, request) in (0..).zip(requests) {
            let partition = QueuePartition { model: MODEL, account: AccountKey(request.account) };
            let sort_key = json::minimize(&request.body, 0)
                .map_or_else(|_| SortKey::default(), |body| SortKey::compute(&SECRET, body.as_json()));
            let position = Position { sort_key, seq };
            let cost =
                i64::try_from(request.job.prompt_tokens + 2 * request.job.output_tokens).unwrap_or(i64::MAX);
            let candidate = Candidate {
                position: position.clone(),
                cost,
                deadline: i64::MAX,
                attempts: 0,
                suspect: false,
            };
            waiting.entry(partition).or_default().insert(position, candidate);
            costs.push(cost);
        }
        Self {
            scheduler: Scheduler::new(Settings::default(), 1),
            replicas: replicas.collect(),
            waiting,
            costs,
            answers: HashMap::new(),
            next_answer: WAKE + 1,
            tells_load: limit == Limit::Untold { tells_load: true },
        }
    }

    fn feed(&mut self, input: SchedulerInput, now_us: u64, works: &mut Vec<Work>) {
        let now = EPOCH_MS + i64::try_from(now_us / 1_000).unwrap_or(i64::MAX);
        for command in self.scheduler.on(input, now) {
            match command {
                SchedulerCommand::Send { replica, lease } => {
                    let request = usize::try_from(lease.key.position.seq).unwrap_or(usize::MAX);
                    works.push(Work::Send { replica: replica.0 as usize, request });
                }
                SchedulerCommand::WakeAt { at } => {
                    let ms = u64::try_from(at - EPOCH_MS).unwrap_or(0);
                    works.push(Work::After { us: (ms * 1_000).saturating_sub(now_us), number: WAKE });
                }
                SchedulerCommand::Scan { partition, scan, after, until, limit, .. } => {
                    let (candidates, reached_end) = self.scan(partition, after, until, limit as usize);
                    let answer = SchedulerInput::Candidates { partition, scan, candidates, reached_end };
                    works.push(self.later(SCAN_US, answer));
                }
                SchedulerCommand::Lease { replica, partition, positions } => {
                    let answer = self.lease(replica, partition, positions);
                    works.push(self.later(COMMIT_US, answer));
                }
                SchedulerCommand::ReleaseLease { lease, .. } => self.release(lease),
                _ => {}
            }
        }
    }

    fn later(&mut self, us: u64, answer: SchedulerInput) -> Work {
        let number = self.next_answer;
        self.next_answer += 1;
        self.answers.insert(number, answer);
        Work::After { us, number }
    }
}

impl Swept {
    fn scan(
        &self,
        partition: QueuePartition,
        after: Option<Position>,
        until: Option<Position>,
        limit: usize,
    ) -> (Vec<Candidate>, bool) {
        let range = (
            after.map_or(Bound::Unbounded, Bound::Excluded),
            until.map_or(Bound::Unbounded, Bound::Included),
        );
        let rows = self.waiting.get(&partition).into_iter().flat_map(|it| it.range(range.clone()));
        let candidates: Vec<Candidate> = rows.take(limit).map(|(_, candidate)| candidate.clone()).collect();
        let reached_end = candidates.len() < limit;
        (candidates, reached_end)
    }

    fn lease(
        &mut self,
        replica: ReplicaKey,
        partition: QueuePartition,
        positions: Vec<Position>,
    ) -> SchedulerInput {
        let rows = self.waiting.entry(partition).or_default();
        let (mut leases, mut gone) = (Vec::new(), Vec::new());
        for position in positions {
            match rows.remove(&position) {
                Some(_) => leases.push(Lease { key: QueueKey { partition, position }, epoch: 1 }),
                None => gone.push(position.seq),
            }
        }
        SchedulerInput::Leased { replica, partition, leases, gone }
    }

    fn release(&mut self, lease: Lease) {
        let QueueKey { partition, position } = lease.key;
        let cost = usize::try_from(position.seq).ok().and_then(|at| self.costs.get(at)).copied().unwrap_or(1);
        let candidate =
            Candidate { position: position.clone(), cost, deadline: i64::MAX, attempts: 0, suspect: false };
        self.waiting.entry(partition).or_default().insert(position, candidate);
    }
}

impl Dispatcher for Swept {
    fn on(&mut self, event: Event, now_us: u64) -> Vec<Work> {
        let mut works = Vec::new();
        match event {
            Event::Start => {
                works.push(Work::After { us: TICK_US, number: TICK });
                let replicas = std::mem::take(&mut self.replicas);
                self.feed(SchedulerInput::Replicas(replicas), now_us, &mut works);
                let backlog = |(partition, rows): (&QueuePartition, &BTreeMap<_, _>)| Backlog {
                    partition: *partition,
                    count: i64::try_from(rows.len()).unwrap_or(i64::MAX),
                };
                let backlogs = self.waiting.iter().map(backlog).collect();
                self.feed(SchedulerInput::Backlogs(backlogs), now_us, &mut works);
            }
            Event::Completed { request, .. } => {
                let seq = i64::try_from(request).unwrap_or(i64::MAX);
                self.feed(SchedulerInput::Completed { seq, cost: self.costs[request] }, now_us, &mut works);
            }
            Event::Reported { replica, stats } => {
                if self.tells_load {
                    let replica = ReplicaKey(u32::try_from(replica).unwrap_or(u32::MAX));
                    self.feed(SchedulerInput::Load { replica, load: load_of(stats) }, now_us, &mut works);
                }
            }
            Event::Due(TICK) => {
                works.push(Work::After { us: TICK_US, number: TICK });
                self.feed(SchedulerInput::Tick, now_us, &mut works);
            }
            Event::Due(WAKE) => self.feed(SchedulerInput::Tick, now_us, &mut works),
            Event::Due(number) => {
                if let Some(answer) = self.answers.remove(&number) {
                    self.feed(answer, now_us, &mut works);
                }
            }
        }
        works
    }
}

fn load_of(stats: ModelStats) -> EngineLoad {
    let count = |value: usize| i64::try_from(value).unwrap_or(i64::MAX);
    EngineLoad {
        running: count(stats.num_requests_running),
        waiting: count(stats.num_requests_waiting),
        cache_permille: (stats.kv_cache_usage_perc * 1_000.0) as i64,
        preemptions: i64::try_from(stats.num_preemptions_total).unwrap_or(i64::MAX),
    }
}
