//! The service's own order: the real scheduler and the real sort keys, over a queue in memory whose reads and commits take as long as a
//! store's.

use std::collections::{BTreeMap, HashMap};
use std::ops::{Bound, Range};

use overnight_domain::json;
use overnight_domain::scheduler::{
    AccountKey, AttemptError, Backlog, Candidate, DailyLimits, DeadlineStep, EngineLoad, Lease, ModelKey,
    Position, ProbeOutcome, QueueKey, QueuePartition, RateLimits, Replica, ReplicaKey, Scheduler,
    SchedulerCommand, SchedulerInput, Settings,
};
use overnight_domain::sort_key::SortKey;

use overnight_testkit::engine::ModelStats;

use super::fleet::{Dispatcher, Event, Work};
use super::isolation::Isolation;
use super::workload::Request;

pub(super) const MODEL: ModelKey = ModelKey(1);
/// The duration of a read of the queue, in microseconds.
const SCAN_US: u64 = 1_000;
const COMMIT_US: u64 = 4_000;
/// The start of the scheduler's clock, in milliseconds.
const EPOCH_MS: i64 = 1_000_000;
/// The longest interval of the shell's ticks.
const TICK_US: u64 = 1_000_000;
/// The interval of searches for overdue requests.
const EXPIRY_MS: i64 = 10_000;
const TICK: u64 = 0;
const WAKE: u64 = 1;
/// The default of the settings.
const FIRST_CONCURRENCY: u32 = 64;
const MAX_CONCURRENCY: u32 = 1_024;
pub(super) const SECRET: [u8; 32] = [7; 32];

/// The limit of concurrent requests of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    /// A fixed number.
    Told(u32),
    /// The scheduler adapts it to the reported load of engines, or to their completions.
    Untold { tells_load: bool },
}

#[derive(Debug)]
pub(super) struct Row {
    pub(super) account: AccountKey,
    pub(super) candidate: Candidate,
    /// On the scheduler's clock.
    retry_at: i64,
    epoch: i64,
}

#[derive(Debug)]
pub(super) struct Swept {
    pub(super) scheduler: Scheduler,
    replicas: Vec<Replica>,
    pub(super) waiting: BTreeMap<QueuePartition, BTreeMap<Position, Row>>,
    pub(super) leased: HashMap<i64, Row>,
    coming: HashMap<i64, (QueuePartition, Row)>,
    expired_at: i64,
    isolation: Isolation,
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
            colocated_percent: None,
            rate_limits: RateLimits::default(),
            daily_limits: DailyLimits::default(),
            process: None,
        });
        let mut waiting: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        let mut costs = Vec::with_capacity(requests.len());
        for (seq, request) in (0..).zip(requests) {
            let account = AccountKey(request.account);
            let partition = QueuePartition { model: MODEL, account };
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
            waiting
                .entry(partition)
                .or_default()
                .insert(position, Row { account, candidate, retry_at: 0, epoch: 0 });
            costs.push(cost);
        }
        Self {
            scheduler: Scheduler::new(Settings::default(), 1),
            leased: HashMap::new(),
            coming: HashMap::new(),
            expired_at: EPOCH_MS,
            isolation: Isolation::new(max_concurrency),
            replicas: replicas.collect(),
            waiting,
            costs,
            answers: HashMap::new(),
            next_answer: WAKE + 1,
            tells_load: limit == Limit::Untold { tells_load: true },
        }
    }

    /// Changes the seed of the scheduler's own draws.
    pub(super) fn with_seed(self, seed: u64) -> Self {
        self.with_settings(Settings::default(), seed)
    }

    /// Changes settings and seed.
    pub(super) fn with_settings(self, settings: Settings, seed: u64) -> Self {
        Self { scheduler: Scheduler::new(settings, seed), ..self }
    }

    /// Queues no request before its arrival.
    pub(super) fn with_arrivals(mut self) -> Self {
        for (partition, rows) in std::mem::take(&mut self.waiting) {
            self.coming.extend(rows.into_values().map(|row| (row.candidate.position.seq, (partition, row))));
        }
        self
    }

    /// Makes each account ask for this multiple of the output that it gets.
    pub(super) fn with_output_limits(mut self, requests: &[Request], times: impl Fn(i64) -> i64) -> Self {
        let rows = self.waiting.values_mut().flat_map(BTreeMap::values_mut);
        for row in rows.chain(self.coming.values_mut().map(|(_, row)| row)) {
            let request = usize::try_from(row.candidate.position.seq).ok().and_then(|seq| requests.get(seq));
            let output = request.and_then(|it| i64::try_from(it.job.output_tokens).ok()).unwrap_or(0);
            row.candidate.cost += 2 * output * (times(row.account.0) - 1);
        }
        self
    }

    /// These requests arrive now, each with a deadline.
    pub(super) fn arrive(&mut self, requests: Range<usize>, deadline_us: u64, now_us: u64) -> Vec<Work> {
        let mut added: BTreeMap<QueuePartition, i64> = BTreeMap::new();
        for request in requests {
            let seq = i64::try_from(request).unwrap_or(i64::MAX);
            let Some((partition, mut row)) = self.coming.remove(&seq) else { continue };
            row.candidate.deadline = clock_ms(deadline_us);
            self.waiting.entry(partition).or_default().insert(row.candidate.position.clone(), row);
            *added.entry(partition).or_default() += 1;
        }
        let added = added.into_iter().map(|(partition, count)| Backlog { partition, count }).collect();
        let mut works = Vec::new();
        self.feed(SchedulerInput::Released { added, next_ready_at: None }, now_us, &mut works);
        works
    }

    /// Fails requests that still wait at their deadline.
    pub(super) fn expire(&mut self, now_us: u64) -> Vec<Work> {
        let now = clock_ms(now_us);
        if now < self.expired_at + EXPIRY_MS {
            return Vec::new();
        }
        self.expired_at = now;
        let mut seqs = Vec::new();
        for rows in self.waiting.values_mut() {
            rows.retain(|position, row| {
                let lives = row.candidate.deadline > now;
                seqs.extend((!lives).then_some(position.seq));
                lives
            });
        }
        let mut works = vec![Work::Fail; seqs.len()];
        self.feed(SchedulerInput::Ended { seqs }, now_us, &mut works);
        works
    }

    fn feed(&mut self, input: SchedulerInput, now_us: u64, works: &mut Vec<Work>) {
        let now = clock_ms(now_us);
        for command in self.scheduler.on(input, now) {
            match command {
                SchedulerCommand::Send { replica, lease } => {
                    let request = request_of(&lease);
                    let is_suspect =
                        self.leased.get(&lease.key.position.seq).is_some_and(|it| it.candidate.suspect);
                    self.isolation.send(request, is_suspect);
                    works.push(Work::Send { replica: replica.0 as usize, request });
                }
                SchedulerCommand::WakeAt { at } => {
                    let ms = u64::try_from(at - EPOCH_MS).unwrap_or(0);
                    works.push(Work::After { us: (ms * 1_000).saturating_sub(now_us), number: WAKE });
                }
                SchedulerCommand::Scan { partition, scan, after, until, limit, .. } => {
                    let (candidates, reached_end) = self.scan(partition, after, until, limit as usize, now);
                    let answer = SchedulerInput::Candidates { partition, scan, candidates, reached_end };
                    works.push(self.later(SCAN_US, answer));
                }
                SchedulerCommand::CountDeadlines { partition, step_ms } => {
                    let steps = self.deadlines(partition, step_ms, now);
                    let answer = SchedulerInput::Deadlines { partition, steps, segments: 0 };
                    works.push(self.later(SCAN_US, answer));
                }
                SchedulerCommand::Lease { replica, partition, positions } => {
                    let answer = self.lease(replica, partition, positions);
                    works.push(self.later(COMMIT_US, answer));
                }
                SchedulerCommand::ReleaseLease { lease, retry_at, attempt, suspect, .. } => {
                    self.release(lease, retry_at, attempt.is_some(), suspect);
                }
                SchedulerCommand::Fail { lease, .. } => {
                    self.leased.remove(&lease.key.position.seq);
                    works.push(Work::Fail);
                }
                SchedulerCommand::Probe { replica, .. } => {
                    works.push(Work::Probe { replica: replica.0 as usize });
                }
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
        now: i64,
    ) -> (Vec<Candidate>, bool) {
        let range = (
            after.map_or(Bound::Unbounded, Bound::Excluded),
            until.map_or(Bound::Unbounded, Bound::Included),
        );
        let rows = self.waiting.get(&partition).into_iter().flat_map(|it| it.range(range.clone()));
        let visible = rows.map(|(_, row)| row).filter(|row| row.retry_at <= now);
        let candidates: Vec<Candidate> = visible.take(limit).map(|row| row.candidate.clone()).collect();
        let reached_end = candidates.len() < limit;
        (candidates, reached_end)
    }

    fn deadlines(&self, partition: QueuePartition, step_ms: i64, now: i64) -> Vec<DeadlineStep> {
        let mut steps: BTreeMap<i64, DeadlineStep> = BTreeMap::new();
        let rows = self.waiting.get(&partition).into_iter().flat_map(BTreeMap::values);
        for Row { candidate, .. } in rows.filter(|row| row.retry_at <= now) {
            let from = (candidate.deadline / step_ms).saturating_mul(step_ms);
            let step = steps.entry(from).or_insert(DeadlineStep { from, count: 0, cost: 0 });
            step.count += 1;
            step.cost = step.cost.saturating_add(candidate.cost);
        }
        steps.into_values().collect()
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
                Some(mut row) => {
                    row.epoch += 1;
                    let epoch = row.epoch;
                    self.leased.insert(position.seq, row);
                    leases.push(Lease { key: QueueKey { partition, position }, epoch });
                }
                None => gone.push(position.seq),
            }
        }
        SchedulerInput::Leased { replica, partition, leases, gone }
    }

    fn release(&mut self, lease: Lease, retry_at: i64, is_counted: bool, suspect: bool) {
        let QueueKey { partition, position } = lease.key;
        let row = self.leased.remove(&position.seq).filter(|row| row.epoch == lease.epoch);
        let Some(mut row) = row else { return };
        row.retry_at = retry_at;
        row.candidate.attempts += u32::from(is_counted);
        row.candidate.suspect = suspect;
        self.waiting.entry(partition).or_default().insert(position, row);
    }

    /// How long suspects had an engine to themselves, with a slot free, while other work waited.
    pub(super) fn isolated_seconds(&self) -> f64 {
        self.isolation.seconds()
    }

    fn fail(&mut self, request: usize, error: AttemptError, now_us: u64, works: &mut Vec<Work>) {
        self.isolation.end(request);
        let seq = i64::try_from(request).unwrap_or(i64::MAX);
        self.feed(SchedulerInput::AttemptFailed { seq, error }, now_us, works);
    }
}

pub(super) fn clock_ms(now_us: u64) -> i64 {
    EPOCH_MS + i64::try_from(now_us / 1_000).unwrap_or(i64::MAX)
}

fn request_of(lease: &Lease) -> usize {
    usize::try_from(lease.key.position.seq).unwrap_or(usize::MAX)
}

impl Dispatcher for Swept {
    fn on(&mut self, event: Event, now_us: u64) -> Vec<Work> {
        let mut works = Vec::new();
        let do_others_wait = self.waiting.values().any(|rows| !rows.is_empty());
        self.isolation.pass(do_others_wait, now_us);
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
                self.leased.remove(&seq);
                self.isolation.end(request);
                let cost = self.costs[request];
                self.feed(SchedulerInput::Completed { seq, cost, tokens: cost }, now_us, &mut works);
            }
            Event::Reported { replica, stats } => {
                if self.tells_load {
                    let replica = ReplicaKey(u32::try_from(replica).unwrap_or(u32::MAX));
                    self.feed(SchedulerInput::Load { replica, load: load_of(stats) }, now_us, &mut works);
                }
            }
            Event::Broken { request } => {
                self.fail(request, AttemptError::Reset("died".to_owned()), now_us, &mut works);
            }
            Event::Refused { request } => {
                self.fail(request, AttemptError::Connect("refused".to_owned()), now_us, &mut works);
            }
            Event::Probed { replica, is_up } => {
                let replica = ReplicaKey(u32::try_from(replica).unwrap_or(u32::MAX));
                let outcome =
                    if is_up { ProbeOutcome::Healthy } else { ProbeOutcome::Failed("refused".to_owned()) };
                self.feed(SchedulerInput::Probed { replica, outcome }, now_us, &mut works);
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

#[expect(clippy::cast_possible_truncation, reason = "a share is at most 1")]
fn load_of(stats: ModelStats) -> EngineLoad {
    let count = |value: usize| i64::try_from(value).unwrap_or(i64::MAX);
    EngineLoad {
        running: count(stats.num_requests_running),
        waiting: count(stats.num_requests_waiting),
        cache_permille: (stats.kv_cache_usage_perc * 1_000.0) as i64,
        preemptions: i64::try_from(stats.num_preemptions_total).unwrap_or(i64::MAX),
    }
}
