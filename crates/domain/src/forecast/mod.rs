//! When requests that wait will have been completed: from what waits, how far its sweep has come, what it takes, and when engines
//! are open.
//!
//! Three questions, one after another: how much of the account's own work comes before a request (`sweep`); what else is worked on
//! meanwhile, and for how long all that takes slots of engines (`shares`); and when the engines will have had slots for so long
//! (`engine_time`).
//!
//! An estimate of the end is reckoned, not kept. `domain::forecast` is pure: marks in the order of a partition, the segments of its
//! sweep, the time that requests take a slot, the shares of others and the hours of engines give a time. `app::forecasts` gathers
//! that: counts and marks from the store (cached for 20 times as long as they took), segments and times from the scheduler of this
//! process, which answers questions through `Signals`, and slots from the reports of engines.

mod engine_time;
mod model_queue;
mod shares;
mod sweep;

pub use engine_time::EngineTime;
use engine_time::done_at;
pub use model_queue::{AccountOrder, AccountQueue, ModelQueue};
use shares::Work;
pub use sweep::Mark;

use crate::scheduler::{Position, SweptSegment};

/// What a forecast is of.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'a> {
    /// A request that waits at this place.
    Waiting(&'a Position),
    /// A request that was sent to an engine then, in milliseconds.
    Sent(i64),
    /// All that waits in the partition.
    All,
}

/// What is known, at a time, of a partition of the queue and of what is worked on beside it.
#[derive(Debug, Clone, Default)]
pub struct QueueOutlook {
    /// When it was seen, in milliseconds.
    at: i64,
    /// What waits in the partition, in order: its cost as it will be used.
    marks: Vec<Mark>,
    /// For how many milliseconds a unit of that cost takes a slot.
    slot_ms: f64,
    /// For how many milliseconds a request takes a slot, in the mean.
    request_ms: f64,
    /// The part of the slots that the account's requests to the model take, where it holds as many as it may.
    most_part: Option<f64>,
    /// The segments in which it is swept, in order; none where nobody sweeps it yet.
    segments: Vec<SweptSegment>,
    /// The cost of what waits behind a cursor and is about to be leased all the same: 0 where cursors pass what is leased, and a run's
    /// where they pass what was seen.
    window_cost: f64,
    /// Of a rest that costs more than this its owner keeps a portion, see [`survey_max`](crate::scheduler::survey_max).
    survey_cost: f64,
    /// The cost of a portion.
    portion_cost: f64,
    /// Requests that are leased, of whatever account and model.
    leased: f64,
    /// For how many milliseconds they take a slot.
    leased_ms: f64,
    /// For how many milliseconds a unit of cost takes a slot at least, of whatever account, while all slots are taken; 0 where that is
    /// not known.
    least_slot_ms: f64,
    /// What waits for the same model, of each other account.
    other_accounts: Vec<Work>,
    /// For how many milliseconds what waits for each other model of the same engines takes a slot.
    other_models_ms: Vec<f64>,
}

impl QueueOutlook {
    /// When the engines will have completed it, in milliseconds; `None` where that is further ahead than their hours are known, or
    /// there are none.
    pub fn completed_at(&self, engines: &[EngineTime], subject: Subject<'_>) -> Option<i64> {
        let sent_at = match subject {
            // One that was sent long ago was sent again, or has as much left as others have.
            Subject::Sent(at) if (self.at - at) as f64 > self.request_ms => self.at,
            Subject::Sent(at) => at,
            Subject::Waiting(position) => self.sent_at(engines, Some(position))?,
            Subject::All => self.sent_at(engines, None)?,
        };
        #[expect(clippy::cast_possible_truncation, reason = "a cast of a float stops at the bounds")]
        Some(sent_at.saturating_add(self.request_ms as i64))
    }

    /// When the request at this place will be sent, or the last of all where `None`: when slots have been taken by what comes before. What
    /// is in flight does not count, for each slot is taken by the next request as soon as it is free.
    fn sent_at(&self, engines: &[EngineTime], position: Option<&Position>) -> Option<i64> {
        let slots: f64 = engines.iter().map(|engine| engine.slots).sum();
        let buffered_part = if self.leased > slots { 1.0 - slots / self.leased } else { 0.0 };
        let Self { marks, segments, window_cost: window, survey_cost: survey, portion_cost: portion, .. } =
            self;
        let swept = sweep::Swept { marks, segments, window: *window, survey: *survey, portion: *portion };
        let cost = swept.work_before(position, engines.len());
        let own = Work { cost, slot_ms: self.slot_ms, most_part: self.most_part };
        let of_model_ms = shares::with_accounts(own, &self.other_accounts, self.least_slot_ms);
        let all_ms = shares::with_models(of_model_ms, &self.other_models_ms);
        done_at(engines, self.at, self.leased_ms * buffered_part + all_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sort_key::SortKey;

    #[test]
    fn it_is_sent_when_what_comes_before_has_been_and_takes_its_time() {
        let last = Position { sort_key: SortKey::default(), seq: 9 };
        let mut outlook = QueueOutlook {
            at: 1_000,
            leased: 40.0,
            leased_ms: 80.0,
            marks: vec![Mark { last: last.clone(), cost: 100.0 }],
            slot_ms: 2.0,
            request_ms: 7.5,
            other_accounts: [30.0, 500.0].map(|cost| Work { cost, slot_ms: 1.0, most_part: None }).to_vec(),
            other_models_ms: vec![1_000.0],
            ..QueueOutlook::default()
        };
        let engines = [EngineTime { slots: 10.0, open: vec![(0, i64::MAX)] }];
        // A quarter of what is leased is in flight.
        let ms = 60 + 2 * (200 + 30 + 100);
        assert_eq!(outlook.completed_at(&engines, Subject::All), Some(1_000 + ms / 10 + 7));
        assert_eq!(outlook.completed_at(&engines, Subject::Waiting(&last)), Some(1_000 + ms / 10 + 7));
        assert_eq!(outlook.completed_at(&engines, Subject::Sent(995)), Some(1_002));
        assert_eq!(outlook.completed_at(&engines, Subject::Sent(500)), Some(1_007));
        assert_eq!(outlook.completed_at(&[], Subject::All), None);
        outlook.leased = 5.0;
        assert_eq!(
            outlook.completed_at(&engines, Subject::All),
            Some(1_000 + 66 + 7),
            "all of it is in flight"
        );
    }
}
