//! The queue in memory.

use std::collections::BTreeMap;

use super::super::leases_held::Mark;
use super::super::{
    Candidate, DailyUse, DeadlineStep, Lease, Position, QueueKey, QueuePartition, ReplicaKey,
    SchedulerCommand, SchedulerInput,
};

#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) seen: Candidate,
    pub(super) retry_at: i64,
    pub(super) epoch: i64,
    pub(super) is_leased: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Completed,
    Failed(&'static str),
    Cancelled,
}

#[derive(Debug, Default)]
pub(super) struct Store {
    pub(super) rows: BTreeMap<(QueuePartition, Position), Row>,
    pub(super) ends: BTreeMap<i64, End>,
    /// Requests and tokens that replicas used, by day.
    pub(super) uses: BTreeMap<(ReplicaKey, i64), (i64, i64)>,
    places: BTreeMap<i64, (QueuePartition, Position)>,
}

impl Store {
    pub(super) fn insert(&mut self, partition: QueuePartition, seen: Candidate) {
        self.places.insert(seen.position.seq, (partition, seen.position.clone()));
        let key = (partition, seen.position.clone());
        self.rows.insert(key, Row { seen, retry_at: 0, epoch: 0, is_leased: false });
    }

    pub(super) fn count_use(&mut self, used: DailyUse) -> SchedulerInput {
        let sum = self.uses.entry((used.replica, used.day)).or_default();
        *sum = (sum.0 + used.requests, sum.1 + used.tokens);
        SchedulerInput::Used(DailyUse { requests: sum.0, tokens: sum.1, ..used })
    }

    pub(super) fn row(&self, seq: i64) -> Option<&Row> {
        self.rows.get(self.places.get(&seq)?)
    }

    pub(super) fn scan(&self, command: SchedulerCommand, now: i64) -> SchedulerInput {
        let SchedulerCommand::Scan { partition, scan, after, until, limit, .. } = command else {
            panic!("no scan: {command:?}")
        };
        let limit = usize::try_from(limit).unwrap();
        let is_visible = |row: &&Row| {
            let position = &row.seen.position;
            let is_inside = after.as_ref().is_none_or(|after| position > after)
                && until.as_ref().is_none_or(|until| position <= until);
            is_inside && !row.is_leased && row.retry_at <= now
        };
        let all = self.rows.iter().filter(|((it, _), _)| *it == partition).map(|(_, row)| row);
        let mut waiting = all.filter(is_visible);
        let candidates: Vec<_> = waiting.by_ref().take(limit).map(|row| row.seen.clone()).collect();
        let reached_end = waiting.next().is_none();
        SchedulerInput::Candidates { partition, scan, candidates, reached_end }
    }

    pub(super) fn count_deadlines(&self, command: &SchedulerCommand, now: i64) -> SchedulerInput {
        let &SchedulerCommand::CountDeadlines { partition, step_ms } = command else {
            panic!("no count: {command:?}")
        };
        let mut steps: BTreeMap<i64, DeadlineStep> = BTreeMap::new();
        for ((of, _), row) in &self.rows {
            if *of == partition && !row.is_leased && row.retry_at <= now {
                let from = row.seen.deadline.div_euclid(step_ms).saturating_mul(step_ms);
                let step = steps.entry(from).or_insert(DeadlineStep { from, count: 0, cost: 0 });
                step.count += 1;
                step.cost += row.seen.cost;
            }
        }
        SchedulerInput::Deadlines { partition, steps: steps.into_values().collect(), segments: 0 }
    }

    pub(super) fn lease(&mut self, command: SchedulerCommand, now: i64) -> SchedulerInput {
        let SchedulerCommand::Lease { replica, partition, positions } = command else {
            panic!("no lease: {command:?}")
        };
        let (mut leases, mut gone) = (Vec::new(), Vec::new());
        for position in positions {
            let key = QueueKey { partition, position };
            match self.rows.get_mut(&(partition, key.position.clone())) {
                Some(row) if !row.is_leased && row.retry_at <= now => {
                    row.is_leased = true;
                    row.epoch += 1;
                    leases.push(Lease { epoch: row.epoch, key });
                }
                _ => gone.push(key.position.seq),
            }
        }
        SchedulerInput::Leased { replica, partition, leases, gone }
    }

    fn leased(&mut self, lease: &Lease) -> Option<&mut Row> {
        let row = self.rows.get_mut(&(lease.key.partition, lease.key.position.clone()))?;
        (row.is_leased && row.epoch == lease.epoch).then_some(row)
    }

    /// Ends a leased request; returns false if the epoch is old.
    pub(super) fn settle(&mut self, lease: &Lease, end: End) -> bool {
        let is_ours = self.leased(lease).is_some();
        if is_ours {
            self.finish(lease.key.position.seq, end);
        }
        is_ours
    }

    pub(super) fn release_lease(&mut self, lease: &Lease, retry_at: i64, mark: &Mark) {
        if let Some(row) = self.leased(lease) {
            row.is_leased = false;
            row.retry_at = retry_at;
            row.seen.attempts += u32::from(mark.attempt.is_some());
            row.seen.suspect = mark.suspect;
        }
    }

    pub(super) fn release_later(&mut self, seq: i64, retry_at: i64) {
        self.rows.get_mut(&self.places[&seq]).unwrap().retry_at = retry_at;
    }

    pub(super) fn finish(&mut self, seq: i64, end: End) {
        if let Some(place) = self.places.get(&seq)
            && self.rows.remove(place).is_some()
        {
            assert_eq!(self.ends.insert(seq, end), None, "{seq} ended twice");
        }
    }
}
