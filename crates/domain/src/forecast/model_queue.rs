//! The queue of one model, and the outlook of an account's part of it.

use std::collections::BTreeMap;

use super::{Mark, QueueOutlook, Work};
use crate::scheduler::{AccountKey, Pace, SweptSegment, survey_max};

/// Counts of one account's requests to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountQueue {
    /// The account.
    pub account: AccountKey,
    /// Waiting requests.
    pub waiting: i64,
    /// Their estimated cost.
    pub waiting_cost: i64,
    /// Leased requests.
    pub leased: i64,
    /// Their estimated cost.
    pub leased_cost: i64,
}

/// The queue of one model, and what its requests take. For accounts without known times, the mean of the others applies.
#[derive(Debug, Clone)]
pub struct ModelQueue {
    accounts: Vec<AccountQueue>,
    paces: BTreeMap<AccountKey, Pace>,
    mean_pace: Pace,
    least_slot_ms: f64,
}

/// The order of one account's part of the queue.
#[derive(Debug, Clone)]
pub struct AccountOrder {
    /// What waits, in order, with its estimated cost.
    pub marks: Vec<Mark>,
    /// The segments of its sweep, in order; empty before the first scan.
    pub segments: Vec<SweptSegment>,
    /// Requests that a scan brings if cursors pass scanned requests; 0 if they pass leased ones.
    pub window: u32,
    /// Requests that a replica keeps of a long rest.
    pub portion: u32,
}

impl ModelQueue {
    /// `None` if the times of no account are known.
    pub fn new(
        accounts: Vec<AccountQueue>,
        paces: Vec<(AccountKey, Pace)>,
        least_slot_ms: Option<f64>,
    ) -> Option<Self> {
        let count = paces.len() as f64;
        let mean = |of: fn(&Pace) -> f64| paces.iter().map(|(_, pace)| of(pace)).sum::<f64>() / count;
        let mean_pace = Pace {
            used_part: mean(|it| it.used_part),
            slot_ms: mean(|it| it.slot_ms),
            request_ms: mean(|it| it.request_ms),
            most_part: None,
        };
        let least_slot_ms = least_slot_ms.unwrap_or(0.0);
        let paces: BTreeMap<_, _> = paces.into_iter().collect();
        (!paces.is_empty()).then_some(Self { accounts, paces, mean_pace, least_slot_ms })
    }

    /// The outlook of an account's requests, seen `at` this time, with the other models of the same engines.
    pub fn outlook(
        &self,
        account: AccountKey,
        order: AccountOrder,
        beside: &[Self],
        at: i64,
    ) -> QueueOutlook {
        let AccountOrder { mut marks, segments, window, portion } = order;
        let Pace { used_part, slot_ms, request_ms, most_part } = self.pace(account);
        marks.iter_mut().for_each(|mark| mark.cost *= used_part);
        let waiting = self.accounts.iter().find(|it| it.account == account).map_or(0, |it| it.waiting);
        let mean_cost = marks.iter().map(|mark| mark.cost).sum::<f64>() / waiting.max(1) as f64;
        let models = || beside.iter().chain([self]);
        let others = self.accounts.iter().filter(|it| it.account != account);
        QueueOutlook {
            at,
            marks,
            slot_ms,
            request_ms,
            most_part,
            segments,
            window_cost: f64::from(window) * mean_cost,
            survey_cost: f64::from(survey_max(portion)) * mean_cost,
            portion_cost: f64::from(portion) * mean_cost,
            leased: models().flat_map(|it| &it.accounts).map(|it| it.leased as f64).sum(),
            leased_ms: models().map(Self::leased_ms).sum(),
            least_slot_ms: self.least_slot_ms,
            other_accounts: others.map(|it| self.work(it)).collect(),
            other_models_ms: beside.iter().map(Self::waiting_ms).collect(),
        }
    }

    fn pace(&self, account: AccountKey) -> Pace {
        self.paces.get(&account).copied().unwrap_or(self.mean_pace)
    }

    fn work(&self, queue: &AccountQueue) -> Work {
        let Pace { used_part, slot_ms, most_part, .. } = self.pace(queue.account);
        Work { cost: queue.waiting_cost as f64 * used_part, slot_ms, most_part }
    }

    fn waiting_ms(&self) -> f64 {
        self.accounts.iter().map(|it| self.work(it).ms()).sum()
    }

    fn leased_ms(&self) -> f64 {
        let ms = |it: &AccountQueue| {
            let Pace { used_part, slot_ms, .. } = self.pace(it.account);
            it.leased_cost as f64 * used_part * slot_ms
        };
        self.accounts.iter().map(ms).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::Position;
    use crate::sort_key::SortKey;

    fn queue(account: i64, waiting: i64, leased: i64) -> AccountQueue {
        let account = AccountKey(account);
        AccountQueue { account, waiting, waiting_cost: 100 * waiting, leased, leased_cost: 100 * leased }
    }

    const fn pace(used_part: f64, slot_ms: f64, request_ms: f64) -> Pace {
        Pace { used_part, slot_ms, request_ms, most_part: None }
    }

    #[test]
    fn an_outlook_is_made_of_what_was_seen() {
        assert!(ModelQueue::new(vec![queue(1, 5, 0)], vec![], None).is_none());
        let paces = vec![(AccountKey(1), pace(0.5, 2.0, 30.0)), (AccountKey(2), pace(0.25, 4.0, 50.0))];
        let accounts = vec![queue(1, 4, 1), queue(2, 8, 2), queue(3, 16, 3)];
        let model = ModelQueue::new(accounts, paces, Some(1.5)).unwrap();
        let beside = ModelQueue::new(vec![queue(1, 2, 1)], vec![(AccountKey(9), pace(1.0, 3.0, 9.0))], None);
        let last = Position { sort_key: SortKey::default(), seq: 4 };
        let order = AccountOrder {
            marks: vec![Mark { last, cost: 400.0 }],
            segments: vec![],
            window: 2,
            portion: 256,
        };
        let outlook = model.outlook(AccountKey(1), order, &[beside.unwrap()], 7);
        assert_eq!((outlook.at, outlook.slot_ms, outlook.request_ms), (7, 2.0, 30.0));
        assert_eq!((outlook.marks[0].cost, outlook.window_cost), (200.0, 100.0));
        assert_eq!((outlook.survey_cost, outlook.portion_cost), (50.0 * 1_024.0, 50.0 * 256.0));
        assert_eq!(outlook.least_slot_ms, 1.5);
        let third = Work { cost: 16.0 * 37.5, slot_ms: 3.0, most_part: None };
        let second = Work { cost: 200.0, slot_ms: 4.0, most_part: None };
        assert_eq!(outlook.other_accounts, [second, third]);
        assert_eq!((outlook.leased, outlook.leased_ms), (7.0, 100.0 + 200.0 + 337.5 + 300.0));
        assert_eq!(outlook.other_models_ms, [600.0]);
    }
}
