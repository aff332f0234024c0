//! When requests that wait will have been completed: from what waits, how far its sweep has come, how fast engines work, and when
//! they are open. Work is counted as [`Candidate::cost`](crate::scheduler::Candidate::cost) is.
//!
//! Three questions, one after another: how much of the account's own work comes before a request (`sweep`), how much work of others is
//! done meanwhile (`shares`), and when the engines will have done all that (`engine_time`).

mod engine_time;
mod shares;
mod sweep;

pub use engine_time::{EngineTime, done_at};
pub use sweep::{Mark, SweptSegment};

use crate::scheduler::Position;

/// What is known, at a time, of a partition of the queue and of what is worked on beside it.
#[derive(Debug, Clone, Default)]
pub struct QueueOutlook {
    /// When it was seen, in milliseconds.
    pub at: i64,
    /// What waits in the partition, in order.
    pub marks: Vec<Mark>,
    /// The segments in which it is swept, in order; none where nobody sweeps it yet.
    pub segments: Vec<SweptSegment>,
    /// Work that is leased, of all accounts.
    pub leased: f64,
    /// Work that waits for the same model, of each other account.
    pub other_accounts: Vec<f64>,
    /// Work that waits for each other model of the same engines.
    pub other_models: Vec<f64>,
}

impl QueueOutlook {
    /// The work that `engines` replicas do until a request at this place has been completed, or all that waits where `None`. Each
    /// leases what comes next when a place is free, so a request is completed when as much as is leased has been done since.
    pub fn work_until(&self, position: Option<&Position>, engines: usize) -> f64 {
        let own = sweep::work_before(&self.marks, &self.segments, position, engines);
        let of_model = shares::with_others(own, &self.other_accounts);
        self.leased + shares::with_others(of_model, &self.other_models)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sort_key::SortKey;

    #[test]
    fn what_is_leased_comes_first_and_others_have_their_shares() {
        let last = Position { sort_key: SortKey::default(), seq: 9 };
        let outlook = QueueOutlook {
            leased: 10.0,
            marks: vec![Mark { last, cost: 100.0 }],
            other_accounts: vec![30.0, 500.0],
            other_models: vec![1_000.0],
            ..QueueOutlook::default()
        };
        assert_eq!(outlook.work_until(None, 1), 10.0 + 2.0 * (100.0 + 30.0 + 100.0));
    }
}
