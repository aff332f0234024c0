//! Engines that share a device, simulated by the second: each holds sixteen requests of twenty seconds, and a swap takes over a minute.

use super::super::*;
use super::desk::Desk;
use super::replica;
use super::store::End;

const LOAD_MS: i64 = 60_000;
const END_MS: i64 = 10_000;
const REQUEST_MS: i64 = 20_000;
const SLOTS: u32 = 16;
pub(super) const MINUTE: i64 = 60_000;
pub(super) const HOUR: i64 = 60 * MINUTE;

#[derive(Debug, Clone, Copy)]
pub(super) enum Change {
    Ready(i64),
    Broken(i64),
    Ended(i64),
}

pub(super) struct Night {
    pub(super) desk: Desk,
    pub(super) load_ms: i64,
    /// Models whose engines fail to start, after as long as others take.
    pub(super) broken: BTreeSet<i64>,
    /// The started models, in order, and when each was ready.
    pub(super) turns: Vec<(i64, i64)>,
    pub(super) changes: BTreeMap<ReplicaKey, Change>,
    pub(super) on_device: BTreeSet<ReplicaKey>,
    pub(super) done_at: BTreeMap<i64, i64>,
    pub(super) done: BTreeMap<i64, i64>,
    /// Time in which an engine was loaded or ended.
    pub(super) lost_ms: i64,
    begun_at: i64,
    next_seq: i64,
}

impl Night {
    pub(super) fn new(models: u32) -> Self {
        let rules = ProcessRules {
            start_after_ms: 10_000,
            idle_stop_ms: 600_000,
            device: Some(DeviceKey(1)),
            time_slice_ms: HOUR,
        };
        let list = (1..=models).map(|key| Replica {
            models: vec![ModelKey(key.into())],
            process: Some(rules.clone()),
            ..replica(key, SLOTS)
        });
        let desk = Desk::with(list.collect());
        Self {
            begun_at: desk.now,
            desk,
            load_ms: LOAD_MS,
            broken: BTreeSet::new(),
            turns: Vec::new(),
            changes: BTreeMap::new(),
            on_device: BTreeSet::new(),
            done_at: BTreeMap::new(),
            done: BTreeMap::new(),
            lost_ms: 0,
            next_seq: 1,
        }
    }

    /// `count` requests of an account for a model arrive, due in this time; returns their numbers.
    pub(super) fn post(&mut self, model: i64, account: i64, count: i64, due_ms: i64) -> std::ops::Range<i64> {
        let seqs = self.next_seq..self.next_seq + count;
        self.next_seq = seqs.end;
        let due = self.desk.now + due_ms;
        let partition = QueuePartition { model: ModelKey(model), account: AccountKey(account) };
        self.desk.enqueue_in(partition, seqs.clone().map(|seq| (seq, due)));
        seqs
    }

    pub(super) fn pass(&mut self, ms: i64) {
        for _ in 0..ms / 1_000 {
            self.desk.now += 1_000;
            self.finish();
            self.change();
            self.desk.feed(SchedulerInput::Tick);
            self.obey();
            if self.desk.now % MINUTE == 0 {
                self.expire();
            }
            self.lost_ms += if self.changes.is_empty() { 0 } else { 1_000 };
        }
    }

    /// Ends waiting requests past their deadline.
    fn expire(&mut self) {
        let rows = self.desk.store.rows.values();
        let overdue = rows.filter(|row| row.seen.deadline <= self.desk.now && !row.is_leased);
        let seqs: Vec<_> = overdue.map(|row| row.seen.position.seq).collect();
        for seq in &seqs {
            self.desk.store.finish(*seq, End::Failed("expired"));
        }
        self.desk.feed(SchedulerInput::Ended { seqs });
    }

    fn finish(&mut self) {
        let now = self.desk.now;
        for seq in self.desk.flying() {
            if *self.done_at.entry(seq).or_insert(now + REQUEST_MS) <= now {
                self.desk.complete(seq);
                self.done_at.remove(&seq);
                self.done.insert(seq, now);
            }
        }
    }

    fn change(&mut self) {
        for (key, change) in self.changes.clone() {
            let (Change::Ready(at) | Change::Broken(at) | Change::Ended(at)) = change;
            if at > self.desk.now {
                continue;
            }
            self.changes.remove(&key);
            match change {
                Change::Ready(_) => {
                    self.turns.push((key.0.into(), at));
                    self.desk.started(key);
                }
                Change::Broken(_) | Change::Ended(_) => {
                    self.on_device.remove(&key);
                    let error = matches!(change, Change::Broken(_)).then_some("not ready in time");
                    self.desk.stopped(key, error);
                }
            }
        }
    }

    fn obey(&mut self) {
        for said in self.desk.hear() {
            let words: Vec<_> = said.split(' ').collect();
            let key = || ReplicaKey(words[1].parse().unwrap());
            match words[0] {
                "start" => {
                    self.on_device.insert(key());
                    assert_eq!(self.on_device.len(), 1, "one holds the device at a time");
                    let (at, is_broken) =
                        (self.desk.now + self.load_ms, self.broken.contains(&key().0.into()));
                    let change = if is_broken { Change::Broken(at) } else { Change::Ready(at) };
                    self.changes.insert(key(), change);
                }
                "stop" => {
                    self.changes.insert(key(), Change::Ended(self.desk.now + END_MS));
                }
                _ => {}
            }
        }
    }

    pub(super) fn order(&self) -> Vec<i64> {
        self.turns.iter().map(|(model, _)| *model).collect()
    }

    pub(super) fn late(&self, seqs: std::ops::Range<i64>, due_at: i64) -> usize {
        seqs.filter(|seq| self.done.get(seq).is_none_or(|at| *at > due_at)).count()
    }
}

#[test]
fn one_runs_until_its_work_is_done_and_then_the_next() {
    let mut night = Night::new(3);
    night.post(1, 1, 1_600, 24 * HOUR);
    night.pass(15_000);
    night.post(2, 2, 160, 24 * HOUR);
    night.post(3, 3, 160, 24 * HOUR);
    night.pass(3 * HOUR);
    assert_eq!((night.order(), night.done.len()), (vec![1, 2, 3], 1_920));
    night.pass(HOUR);
    assert!(night.on_device.is_empty(), "nothing holds the device when all is done");
    assert_eq!(night.order().len(), 3);
}

#[test]
fn two_models_take_turns_by_the_slice_and_swaps_take_a_small_part_of_the_time() {
    let mut night = Night::new(2);
    night.post(1, 1, 12_000, 24 * HOUR);
    night.post(2, 2, 12_000, 24 * HOUR);
    night.pass(10 * HOUR);
    assert_eq!(night.done.len(), 24_000);
    assert!(night.order().len() <= 10 && night.order().windows(2).all(|pair| pair[0] != pair[1]));
    assert!(night.lost_ms < 15 * MINUTE, "{} s", night.lost_ms / 1_000);
}

#[test]
fn two_thousand_requests_of_each_model_with_deadlines_among_them_are_done_in_time() {
    for seed in 0..8 {
        let mut night = Night::new(2);
        let mut dues = Vec::new();
        let mut random = Random::new(seed);
        for part in 0..20 {
            for model in 1..=2 {
                let due_ms = [HOUR, 2 * HOUR, 6 * HOUR, 24 * HOUR][usize::try_from(random.up_to(3)).unwrap()];
                let is_first = part == 0;
                let due_ms = if is_first { 24 * HOUR } else { due_ms.max(HOUR + 40 * MINUTE) };
                let due_at = night.desk.now + due_ms;
                dues.push((night.post(model, model, 100, due_ms), due_at));
            }
            night.pass(5 * MINUTE);
        }
        night.pass(3 * HOUR);
        assert_eq!(night.done.len(), 4_000, "seed {seed}");
        let late: usize = dues.into_iter().map(|(seqs, due_at)| night.late(seqs, due_at)).sum();
        let ended_at = night.done.values().max().unwrap();
        let percent = 100 * night.lost_ms / (ended_at - night.begun_at);
        assert_eq!(late, 0, "seed {seed}");
        assert!(percent <= 5, "seed {seed}: {percent} %");
    }
}

#[test]
fn an_engine_that_is_paused_gives_the_device_up_without_payment() {
    let mut night = Night::new(2);
    night.post(1, 1, 100, 24 * HOUR);
    night.pass(30_000 + LOAD_MS);
    assert_eq!(night.order(), [1]);
    night.post(2, 2, 10, 24 * HOUR);
    for seq in night.desk.flying() {
        night.desk.fail(seq, AttemptError::NoUsage("usage is missing".to_owned()));
    }
    for _ in 0..24 {
        night.desk.probed_failed();
        night.pass(5_000);
    }
    assert_eq!(night.order(), [1, 2]);
}

#[test]
fn a_deadline_in_danger_takes_the_device_from_one_that_has_time_and_gives_it_back() {
    let mut night = Night::new(2);
    night.post(1, 1, 6_000, 24 * HOUR);
    night.pass(30 * MINUTE);
    let (seqs, due_at) = (night.post(2, 2, 100, 30 * MINUTE), night.desk.now + 30 * MINUTE);
    night.pass(3 * HOUR);
    assert_eq!(night.late(seqs, due_at), 0);
    assert_eq!(night.order(), [1, 2, 1]);
}

#[test]
fn an_account_that_asks_for_more_than_can_be_done_leaves_the_other_its_turns() {
    let mut night = Night::new(2);
    night.post(1, 1, 8_000, 2 * HOUR);
    night.pass(HOUR);
    let seqs = night.post(2, 2, 4_000, 24 * HOUR);
    let began_at = night.desk.now;
    for _ in 0..20 {
        // Twice the device's capacity.
        night.post(1, 1, 1_400, 2 * HOUR);
        night.pass(15 * MINUTE);
    }
    let done_at = seqs.filter_map(|seq| night.done.get(&seq)).max().copied();
    let took_ms = done_at.map(|at| at - began_at);
    assert!(took_ms.is_some_and(|ms| ms < 5 * HOUR), "90 minutes of work took {took_ms:?} ms");
}

#[test]
fn an_engine_that_cannot_be_started_takes_the_device_from_nobody() {
    let mut night = Night::new(2);
    night.post(2, 2, 100, 24 * HOUR);
    night.pass(11_000);
    night.changes.clear();
    night.desk.stopped(ReplicaKey(2), Some("no such file"));
    night.on_device.clear();
    night.post(1, 1, 4_000, 24 * HOUR);
    night.pass(2 * HOUR);
    assert_eq!(night.order()[..2], [2, 1], "the second start of it succeeded");
    let mut night = Night::new(2);
    night.post(1, 1, 4_000, 24 * HOUR);
    night.pass(2 * MINUTE);
    night.post(2, 2, 100, 15 * MINUTE);
    night.pass(2 * HOUR);
    assert_eq!(night.order(), [1, 2, 1]);
}
