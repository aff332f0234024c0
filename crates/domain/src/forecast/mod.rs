//! When requests that wait will have been completed: from what waits, how far its sweep has come, what it takes, and when engines
//! are open.
//!
//! Three questions, one after another: how much of the account's own work comes before a request (`sweep`); what else is worked on
//! meanwhile, and for how long all that takes slots of engines (`shares`); and when the engines will have had slots for so long
//! (`engine_time`).

mod engine_time;
mod shares;
mod sweep;

pub use engine_time::{EngineTime, done_at};
pub use shares::{Pace, Work};
pub use sweep::{Mark, SweptSegment};

use crate::scheduler::Position;

/// What is known, at a time, of a partition of the queue and of what is worked on beside it.
#[derive(Debug, Clone, Default)]
pub struct QueueOutlook {
    /// When it was seen, in milliseconds.
    pub at: i64,
    /// What waits in the partition, in order: its cost as it will be used.
    pub marks: Vec<Mark>,
    /// For how many milliseconds a unit of that cost takes a slot.
    pub slot_ms: f64,
    /// Slots that the account's requests to the model take now.
    pub slots: f64,
    /// The segments in which it is swept, in order; none where nobody sweeps it yet.
    pub segments: Vec<SweptSegment>,
    /// For how many milliseconds all that is leased takes a slot, of whatever account and model.
    pub leased_ms: f64,
    /// What waits for the same model, of each other account.
    pub other_accounts: Vec<Work>,
    /// For how many milliseconds what waits for each other model of the same engines takes a slot.
    pub other_models_ms: Vec<f64>,
}

impl QueueOutlook {
    /// For how many milliseconds slots of `engines` replicas are taken until a request at this place has been completed, or all that
    /// waits where `None`. A slot that is free is taken by what comes next, so a request is completed when as much as is leased has
    /// been done besides what comes before it.
    pub fn slot_ms_until(&self, position: Option<&Position>, engines: usize) -> f64 {
        let cost = sweep::work_before(&self.marks, &self.segments, position, engines);
        let of_model_ms = shares::with_accounts(
            Work { cost, slot_ms: self.slot_ms, slots: self.slots },
            &self.other_accounts,
        );
        self.leased_ms + shares::with_models(of_model_ms, &self.other_models_ms)
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
            leased_ms: 10.0,
            marks: vec![Mark { last, cost: 100.0 }],
            slot_ms: 2.0,
            other_accounts: [30.0, 500.0].map(|cost| Work { cost, slot_ms: 1.0, slots: 0.0 }).to_vec(),
            other_models_ms: vec![1_000.0],
            ..QueueOutlook::default()
        };
        assert_eq!(outlook.slot_ms_until(None, 1), 10.0 + 2.0 * (200.0 + 30.0 + 100.0));
    }
}
