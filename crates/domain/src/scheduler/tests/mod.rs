//! The scheduler against a store and engines in memory: single cases by hand, and whole worlds at random.

mod blame;
mod budgets;
mod cases;
mod colocation;
mod concurrency;
mod daily_budget;
mod deadlines;
mod desk;
mod device_deadlines;
mod device_troubles;
mod devices;
mod due_first;
mod failures;
mod fairness;
mod hours;
mod limited;
mod matrix;
mod partitions;
mod process_troubles;
mod processes;
mod rate_limits;
mod rate_shares;
mod rate_window;
mod replicas;
mod segments;
mod set_back;
mod slot_time;
mod spreading;
mod starts;
mod store;
mod sweep;
mod trials;
mod trouble;
mod world;
mod worlds;

use super::{
    AccountKey, Candidate, DailyLimits, ModelKey, Position, ProcessOrder, QueuePartition, RateLimits,
    Replica, ReplicaKey, ScanKey, Scheduler, SchedulerInput,
};
use crate::sort_key::SortKey;

const MODEL: ModelKey = ModelKey(1);

impl Scheduler {
    fn last_order(&self, replica: ReplicaKey) -> ProcessOrder {
        self.replicas[&replica].process.as_ref().unwrap().order
    }
}

fn partition(account: i64) -> QueuePartition {
    QueuePartition { model: MODEL, account: AccountKey(account) }
}

fn position(seq: i64) -> Position {
    Position { sort_key: SortKey::from_bytes(&seq.to_be_bytes()), seq }
}

fn candidate(seq: i64) -> Candidate {
    Candidate { position: position(seq), cost: 100, deadline: i64::MAX, attempts: 0, suspect: false }
}

fn replica(key: u32, max_concurrency: u32) -> Replica {
    Replica {
        key: ReplicaKey(key),
        models: vec![MODEL],
        max_concurrency,
        first_concurrency: max_concurrency,
        colocated_percent: None,
        rate_limits: RateLimits::default(),
        daily_limits: DailyLimits::default(),
        process: None,
    }
}

/// The answer to a scan of account 1's partition.
fn seen(scan: ScanKey, candidates: Vec<Candidate>, reached_end: bool) -> SchedulerInput {
    SchedulerInput::Candidates { partition: partition(1), scan, candidates, reached_end }
}
