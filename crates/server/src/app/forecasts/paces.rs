//! What requests take, by account.

use std::collections::BTreeMap;

use overnight_domain::forecast::Work;
use overnight_domain::scheduler::{AccountKey, Pace};

use crate::app::SweepState;
use crate::store::queue::outlook::AccountQueue;

/// What requests to a model take. Those of accounts of which it is not known take what the others' do in the mean.
pub(super) struct Paces {
    known: BTreeMap<AccountKey, Pace>,
    mean: Pace,
}

impl Paces {
    /// `None` where nothing is known.
    pub(super) fn new(SweepState { paces: known, .. }: SweepState) -> Option<Self> {
        let count = known.len() as f64;
        let mean = |of: fn(&Pace) -> f64| known.iter().map(|(_, pace)| of(pace)).sum::<f64>() / count;
        let mean = Pace {
            used_part: mean(|it| it.used_part),
            slot_ms: mean(|it| it.slot_ms),
            request_ms: mean(|it| it.request_ms),
            most_part: None,
        };
        (!known.is_empty()).then(|| Self { known: known.into_iter().collect(), mean })
    }

    pub(super) fn of(&self, account: AccountKey) -> Pace {
        self.known.get(&account).copied().unwrap_or(self.mean)
    }

    pub(super) fn work(&self, queue: &AccountQueue) -> Work {
        let Pace { used_part, slot_ms, most_part, .. } = self.of(queue.account);
        Work { cost: queue.waiting_cost as f64 * used_part, slot_ms, most_part }
    }

    pub(super) fn leased_ms(&self, queue: &AccountQueue) -> f64 {
        let Pace { used_part, slot_ms, .. } = self.of(queue.account);
        queue.leased_cost as f64 * used_part * slot_ms
    }
}
