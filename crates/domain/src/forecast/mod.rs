//! When waiting requests will have been completed: from what waits, how far its sweep is, what it takes, and when engines are open.
//!
//! Three questions, one after another: how much of the account's own work precedes a request (`sweep`), what other work is done meanwhile,
//! and for how long all that takes slots of engines (`shares`), and when the engines will have had slots for so long (`engine_time`).
//!
//! An estimate is computed, not stored. This module is pure: marks in the order of a partition, the segments of its sweep, the time that
//! requests take a slot, the shares of others and the hours of engines give a time. `app::forecasts` gathers that: counts and marks from
//! the store (cached for 20 times as long as they took), segments and times from the scheduler of this process through `Signals`, and slots
//! from the reports of engines.

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

/// The subject of a forecast.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'a> {
    /// A request that waits at this place.
    Waiting(&'a Position),
    /// A request that was sent to an engine at this time, in milliseconds.
    Sent(i64),
    /// All waiting requests of the partition.
    All,
}

/// What is known, at a time, of a partition of the queue and of the work done meanwhile.
#[derive(Debug, Clone, Default)]
pub struct QueueOutlook {
    at: i64,
    /// What waits in the partition, in order, with its expected cost.
    marks: Vec<Mark>,
    /// Slot time per unit of that cost, in milliseconds.
    slot_ms: f64,
    /// Mean slot time of a request, in milliseconds.
    request_ms: f64,
    /// The part of the slots that the account's requests to the model take, if it holds as many as it may.
    most_part: Option<f64>,
    /// The segments of its sweep, in order; empty before the first scan.
    segments: Vec<SweptSegment>,
    /// The cost of requests behind a cursor that will be leased all the same: 0 if cursors pass leased requests, and that of a run if they
    /// pass scanned ones.
    window_cost: f64,
    /// The owner of a costlier rest keeps a portion, see [`survey_max`](crate::scheduler::survey_max).
    survey_cost: f64,
    portion_cost: f64,
    /// Leased requests, of all accounts and models.
    leased: f64,
    /// Slot time of the leased requests, in milliseconds.
    leased_ms: f64,
    /// The least slot time per unit of cost of any account while all slots are taken, in milliseconds; 0 if unknown.
    least_slot_ms: f64,
    /// What waits for the same model, of each other account.
    other_accounts: Vec<Work>,
    /// Slot time of what waits for each other model of the same engines, in milliseconds.
    other_models_ms: Vec<f64>,
}

impl QueueOutlook {
    /// When the engines will have completed it, in milliseconds; `None` beyond their known hours, or without engines.
    pub fn completed_at(&self, engines: &[EngineTime], subject: Subject<'_>) -> Option<i64> {
        let sent_at = match subject {
            // A request that was sent long ago was sent again, or has as much left as others.
            Subject::Sent(at) if (self.at - at) as f64 > self.request_ms => self.at,
            Subject::Sent(at) => at,
            Subject::Waiting(position) => self.sent_at(engines, Some(position))?,
            Subject::All => self.sent_at(engines, None)?,
        };
        #[expect(clippy::cast_possible_truncation, reason = "a cast of a float stops at the bounds")]
        Some(sent_at.saturating_add(self.request_ms as i64))
    }

    /// When the request at this place will be sent, or the last of all if `None`: when the work before it has had its slot time. Requests
    /// in flight do not count, because each slot is taken by the next request as soon as it is free.
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
